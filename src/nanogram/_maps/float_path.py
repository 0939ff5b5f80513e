"""The float path: any law, activation and code, a block of rows at a time: project, bias, activate, encode, pack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram.codes import Code, FloatCode, UniformCode
from nanogram.projections.base import Drawn
from nanogram.projections.counter import Stream, row_keys

from .encoder import Saturated, tile_rows
from .recipe import Recipe, best_range, needs_range, outside_range
from .scaling import Scaling

__all__ = ["FloatPath", "column_bias", "rounding_keys"]

Array = npt.NDArray[Any]

#: Floats of one block, projections or rows, whichever is wider.
BLOCK_FLOATS = 2**20
#: Of one block of sparse rows, which stay sparse: projections, and stored entries of the rows. W may have to be drawn
#: anew for each block, so that these are larger.
SPARSE_FLOATS = 2**21
#: Small maps are projected in double: single-column products sum in another order in other blocks.
DOUBLE_WEIGHTS = 2**18
#: Rows are known by their integer form on a grid this much finer than the largest entry seen at fit.
KEY_GRID = 2047


@dataclass(frozen=True, eq=False)
class FloatPath:
    """Rows to codes in float32 blocks; see `Encoder`."""

    recipe: Recipe
    drawn: Drawn
    scaling: Scaling
    bias: npt.NDArray[np.float32] | None
    seed: int
    code: Code
    share_at_fit: float = 0.0
    path: str = "float"
    grid_bits: int | None = None

    @classmethod
    def fit(cls, recipe: Recipe, drawn: Drawn, scaling: Scaling, seed: int, sample: Any) -> FloatPath:
        """The path, its uniform code's range read from sampled rows where the activation has no bounds."""
        bias = column_bias(recipe, drawn, scaling, seed)
        small = None if bias is None else bias.astype(np.float32)
        share, code = 0.0, recipe.code
        if needs_range(code, recipe.activation):
            assert isinstance(code, UniformCode)
            path = cls(recipe, drawn, scaling, small, seed, code)
            values = path.values(sample()[: path.block_rows])
            code = best_range(code, values, recipe.n_components)
            share = outside_range(code, values) / values.size
            recipe = recipe.with_code(code)
        return cls(recipe, drawn, scaling, small, seed, recipe.stored_code, share)

    @property
    def n_columns(self) -> int:
        return self.recipe.n_components

    @property
    def block_rows(self) -> int:
        return tile_rows(BLOCK_FLOATS // max(self.recipe.n_components, self.drawn.n_inputs))

    def sparse_block_rows(self, entries: float) -> int:
        """Rows of a block that stay sparse, of so many stored entries each in the mean."""
        return max(self.block_rows, tile_rows(int(SPARSE_FLOATS // max(self.recipe.n_components, entries, 1.0))))

    @property
    def nbytes(self) -> int:
        decoder = 0 if self.code.n_columns is None else 16 * self.code.n_columns
        bias = 0 if self.bias is None else self.bias.nbytes
        return self.drawn.nbytes + self.scaling.mean.nbytes + bias + decoder

    def noise(self, salt: int) -> Stream | None:
        code = self.recipe.code
        if isinstance(code, UniformCode) and code.rounding == "stochastic":
            return Stream(self.seed, "map.rounding", salt)
        return None

    def values(self, block: Any) -> npt.NDArray[np.float32]:
        """s(t) of a block of rows, before the scale."""
        scaling = self.scaling
        moved = scaling.moved(block)
        moved = moved * scaling.scale
        dtype = np.float64 if self.drawn.n_inputs * self.drawn.n_components <= DOUBLE_WEIGHTS else np.float32
        t = np.empty((block.shape[0], self.recipe.n_projections), dtype=dtype)
        self.drawn.project(moved.astype(dtype, copy=False), out=t)
        t = t.astype(np.float32, copy=False)
        if self.bias is not None:
            t += self.bias
        activation = self.recipe.activation
        values: npt.NDArray[np.float32] = activation(t, out=t) if activation.n_outputs == 1 else activation(t)
        return values[:, : self.recipe.n_components]

    def encode_into(self, block: Any, out: Array, noise: Stream | None) -> Saturated:
        values = self.values(block)
        code = self.recipe.code
        if isinstance(code, FloatCode):
            values *= np.float32(self.recipe.factor)
            out[...] = code.encode(values)
            return Saturated(0, 0)
        seen = Saturated(0, 0)
        if isinstance(code, UniformCode) and not np.isfinite(self.recipe.activation.bounds).all():
            seen = Saturated(values.size, outside_range(code, values))
        words = None
        if noise is not None:
            words = noise.bits(rounding_keys(block, self.scaling), values.shape[1])
        out[...] = code.pack(code.encode(values, words=words))
        return seen


def column_bias(recipe: Recipe, drawn: Drawn, scaling: Scaling, seed: int) -> npt.NDArray[np.float64] | None:
    """Phases, and what the means of rows that stay where they are add; None where there is neither."""
    bias = np.zeros(recipe.n_projections)
    if recipe.activation.uses_phase:
        bias += Stream(seed, "map.phases").uniform(1, recipe.n_projections)[0] * (2 * np.pi)
    if scaling.centred and not scaling.shifted:
        bias -= scaling.scale * drawn.project_vector(scaling.mean)
    return bias if bias.any() else None


def rounding_keys(block: Any, scaling: Scaling) -> npt.NDArray[np.uint64]:
    """Keys of rows from their content, rounded to the grid: the same row, the same noise, wherever it stands."""
    inverse = KEY_GRID / scaling.largest_entry if scaling.largest_entry > 0 else 1.0
    moved = scaling.moved(block)
    numbers = moved.data if sp.issparse(moved) else moved
    whole = np.clip(np.rint(numbers * inverse), -32767, 32767).astype(np.int16)
    if not sp.issparse(moved):
        return row_keys(whole)
    rows = sp.csr_array((whole, moved.indices, moved.indptr), shape=moved.shape)
    step = max(1, BLOCK_FLOATS // rows.shape[1])
    return np.concatenate([row_keys(rows[i : i + step].toarray()) for i in range(0, rows.shape[0], step)])
