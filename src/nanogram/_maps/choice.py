"""Which law 'auto' is, and which path encodes a recipe."""

from __future__ import annotations

from typing import Any

from nanogram.projections import make_projection
from nanogram.projections.base import Drawn, Projection

from .encoder import Encoder
from .float_path import FloatPath
from .recipe import Recipe
from .scaling import Scaling

__all__ = ["choose_projection", "fit_path", "resolve_projection"]

#: Hadamard blocks of fewer inputs than this are far from Gaussian.
LEAST_HADAMARD_INPUTS = 16


def choose_projection(n_inputs: int, is_sparse: bool) -> Projection:
    """The fastest law that loses no accuracy: what ``projection="auto"`` means.

    Parameters
    ----------
    n_inputs : int
        Columns of X.
    is_sparse : bool
        Whether X is a sparse matrix.

    Returns
    -------
    Projection
        Hadamard with three rounds for dense rows of 16 columns and more. With fewer columns its blocks hold
        too few signs to be Gaussian, and it saves nothing; sparse rows cost it as much as dense ones. Both get
        the Gaussian law.
    """
    fast = n_inputs >= LEAST_HADAMARD_INPUTS and not is_sparse
    return make_projection("hadamard" if fast else "gaussian")


def resolve_projection(projection: Any, n_inputs: int, is_sparse: bool) -> Projection:
    """A law from a law, a name or 'auto'."""
    if isinstance(projection, str) and projection == "auto":
        return choose_projection(n_inputs, is_sparse)
    return make_projection(projection)


def fit_path(recipe: Recipe, drawn: Drawn, scaling: Scaling, seed: int, sample: Any) -> Encoder:
    """The integer path where the recipe has one, else the float path."""
    return FloatPath.fit(recipe, drawn, scaling, seed, sample)
