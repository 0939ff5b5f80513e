"""Fitting a map that is a projection, an activation and a code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from nanogram.codes import StepCode
from nanogram.projections import Cauchy
from nanogram.projections.base import Projection
from nanogram.rows import RowSource

from .choice import fit_path, resolve_projection
from .encoder import Encoder
from .recipe import Recipe
from .report import MapReport
from .scaling import Scaling, fit_scaling

__all__ = ["RecipeMaker", "fit_projected", "refuse_undesigned_law"]

#: From the law, the scaling and a function that samples rows to a recipe.
RecipeMaker = Callable[[Projection, Scaling, Callable[[], Any]], Recipe]

SAMPLED_ROWS = 1024


def fit_projected(
    source: RowSource,
    projection: Any,
    gamma: float | str,
    centre: bool,
    seed: int,
    maker: RecipeMaker,
    in_integers: bool = True,
) -> tuple[Recipe, Scaling, Encoder, MapReport]:
    """Resolve the law (``in_integers``: for codes that are made in integers), read the rows, draw, and fit the path."""
    law = resolve_projection(projection, source.n_columns, source.is_sparse, in_integers)
    target = "laplacian" if isinstance(law, Cauchy) else "rbf"
    scaling = fit_scaling(source, gamma, target, centre, seed)

    @cache
    def sample() -> Any:
        return source.sample(SAMPLED_ROWS, seed % 2**32, sparse="keep").X

    recipe = maker(law, scaling, sample)
    drawn = law.draw(source.n_columns, recipe.n_projections, seed)
    encoder = fit_path(recipe, drawn, scaling, seed, sample)
    design = recipe.design
    report = MapReport(
        path=encoder.path,
        projection=repr(law),
        activation=repr(recipe.activation),
        code=repr(recipe.code),
        gamma=scaling.gamma,
        scale=scaling.scale,
        tau=scaling.tau,
        fitted_bytes=encoder.nbytes,
        row_bytes=encoder.code.bits * recipe.n_components / 8,
        grid_bits=encoder.grid_bits,
        multiply_adds=int(drawn.cost(1)),
        firing=() if design is None else tuple(design.firing.tolist()),
        excess_ridge=None if design is None else design.excess_d0 * recipe.amplitude**2,
        kind=None if design is None else design.kind,
        share_at_fit=encoder.share_at_fit,
    )
    return recipe, scaling, encoder, report


def refuse_undesigned_law(law: Projection, code: StepCode) -> None:
    """Designs hold for projections of variance |x|^2."""
    if isinstance(law, Cauchy) and not code.designed:
        raise ValueError(
            f"projection={law!r} has no variance, and {code!r} is designed for one that has; "
            "give thresholds and levels, or use activation='cos_phase'"
        )
