"""Which law 'auto' is, and which path encodes a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nanogram.projections import Circulant, Hadamard, make_projection
from nanogram.projections.base import Drawn, Projection

from .dense_path import DensePath
from .encoder import Encoder
from .epilogues import integer_form
from .float_path import FloatPath, column_bias
from .hadamard_path import HadamardPath
from .recipe import Recipe
from .scaling import Scaling

__all__ = ["choose_projection", "fit_path", "resolve_projection"]

#: Hadamard blocks of fewer inputs than this are far from Gaussian: with 6 columns they lose accuracy, with 9 none.
LEAST_HADAMARD_INPUTS = 9
#: Float features of fewer columns are made faster by a matrix product than by transforms.
LEAST_FLOAT_INPUTS = 256
#: Sparse rows of more columns have far fewer entries than a transform has steps.
MOST_SPARSE_INPUTS = 512


def choose_projection(n_inputs: int, is_sparse: bool, in_integers: bool = True) -> Projection:
    """The fastest law that loses no accuracy: what ``projection="auto"`` means.

    `benchmarks/projections.py` measures both, on nine data sets: Hadamard projections with three rounds have no lower
    accuracy than Gaussian ones on any with 9 columns or more, sparse binary rows included; one round, and sparse or
    dense signs, do on several.

    Parameters
    ----------
    n_inputs : int
        Columns of X.
    is_sparse : bool
        Whether X is a sparse matrix.
    in_integers : bool, default=True
        Whether codes are computed in integers (`integer_form`).

    Returns
    -------
    Projection
        Hadamard with three rounds where it is faster and loses nothing: for codes from 9 columns on, of sparse rows
        up to 512; for float features from 256 columns on, of dense rows. Else the Gaussian law.
    """
    if in_integers:
        fast = n_inputs >= LEAST_HADAMARD_INPUTS and not (is_sparse and n_inputs > MOST_SPARSE_INPUTS)
    else:
        fast = n_inputs >= LEAST_FLOAT_INPUTS and not is_sparse
    return make_projection("hadamard" if fast else "gaussian")


def resolve_projection(projection: Any, n_inputs: int, is_sparse: bool, in_integers: bool) -> Projection:
    """A law from a law, a name or 'auto'."""
    if isinstance(projection, str) and projection == "auto":
        return choose_projection(n_inputs, is_sparse, in_integers)
    return make_projection(projection)


def fit_path(recipe: Recipe, drawn: Drawn, scaling: Scaling, seed: int, sample: Callable[[], Any]) -> Encoder:
    """The integer path where the recipe has one, else the float path.

    Thresholds on projections and cosines in 1 to 16 bits over their full range are integer: through Hadamard
    projections, and through laws with a table W of up to 32 MB (circulant ones too). The rest is float: other
    activations, other ranges, float codes, wider circulant and Cauchy projections.
    """
    path: Encoder | None = None
    hadamard = isinstance(drawn.law, Hadamard)
    # Circulant blocks as a table: several times the speed of transforms in float, for as long as it is small.
    table = (drawn.kind == "dense" or isinstance(drawn.law, Circulant)) and DensePath.holds(drawn)
    if integer_form(recipe) is not None and (hadamard or table):
        bias = column_bias(recipe, drawn, scaling, seed)
        known = np.zeros(recipe.n_projections) if bias is None else bias
        kind = HadamardPath if hadamard else DensePath
        path = kind.fit(recipe, drawn, scaling, seed, known, sample())
    return FloatPath.fit(recipe, drawn, scaling, seed, sample) if path is None else path
