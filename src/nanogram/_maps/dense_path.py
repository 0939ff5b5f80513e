"""Projections by a table of integer weights in exact 32-bit sums, by `nanogram.ops.encode_dense.encode_dense`.

The table is the law's own where its entries are -1, 0 and 1; that of other laws is W rounded to 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram.ops.encode import quantise_rows
from nanogram.ops.encode_dense import IntegerWeights, encode_dense
from nanogram.projections.base import Drawn

from .encoder import Saturated
from .epilogues import Parts, integer_form
from .integer_path import IntegerPath
from .recipe import Recipe
from .scaling import Scaling

__all__ = ["DensePath"]

Array = npt.NDArray[Any]

#: Grid of dense paths: 12 bits, more where the largest entry is far from the others.
GRID_BITS = 12
MOST_GRID_BITS = 15
#: Steps of the grid in a root mean square entry.
LEAST_STEPS = 128
#: Integer weights that take more bytes are not kept.
MOST_WEIGHT_BYTES = 2**25


@dataclass(frozen=True, eq=False)
class DensePath(IntegerPath):
    """Projections by a table of integer weights, in exact 32-bit sums."""

    weights: tuple[IntegerWeights, ...]

    path = "integer: dense"

    @staticmethod
    def holds(drawn: Drawn) -> bool:
        """Whether W can be a table: of a variance to scale it by, and of no more than 32 MB."""
        m, p = drawn.shape
        size = m * p * (1 if drawn.int8_scale is not None else 2)
        return drawn.entry_variance is not None and size <= MOST_WEIGHT_BYTES

    @classmethod
    def fit(
        cls, recipe: Recipe, drawn: Drawn, scaling: Scaling, seed: int, bias: npt.NDArray[np.float64], rows: Any
    ) -> Self | None:
        """The path, or None where sums would overflow; for laws whose table is small (`holds`)."""
        law_scale = drawn.int8_scale
        m, p = drawn.shape
        bits, reach = _dense_grid(scaling)
        limit = (1 << (bits - 1)) - 1
        if limit * p >= 2**31:
            return None
        table: Array
        if law_scale is not None:
            table, weight_scale = drawn.weights_int8(), law_scale
        else:
            table, weight_scale = _rounded_weights(drawn, limit)
        # A hair less, so that the largest entry itself is not beyond the grid by rounding.
        inverse = limit / reach * (1 - 1e-12) if reach > 0 else 1.0
        if scaling.centred and not scaling.shifted:
            # The same W as the one that the rows meet.
            bias = bias + scaling.scale * (
                drawn.project_vector(scaling.mean) - weight_scale * _times(table, scaling.mean)
            )
        parts = Parts(recipe, scaling.scale * weight_scale / inverse, bias, 2**32)
        if integer_form(recipe) != "step":
            wanted = parts.multiplier
            whole = max(1.0, float(np.ceil(wanted)))
            inverse *= wanted / whole
            parts = replace(parts, unit=scaling.scale * weight_scale / inverse)
        weights = [IntegerWeights(table, bits)]
        if parts.n_parts == 2:
            weights.append(weights[0] if parts.columns(1) == m else IntegerWeights(table[: parts.columns(1)], bits))
        outside = float(np.mean(np.abs(_entries(scaling.moved(rows))) * inverse > limit)) if rows.size else 0.0
        share = max(outside, scaling.beyond)
        return cls(recipe, scaling, seed, inverse, limit, parts, share, tuple(weights))

    @property
    def nbytes(self) -> int:
        return self.scaling.mean.nbytes + self.weights[0].weights.nbytes + self.parts.bias.nbytes

    def _encode(self, block: Any, part: int, epilogue: Any, out: Array) -> Saturated:
        if sp.issparse(block) and not self.scaling.shifted:
            scaled = block.data.astype(np.float64) * self.inv_grid
            outside = int(np.count_nonzero(np.abs(scaled) > self.limit))
            whole = np.rint(np.clip(scaled, -self.limit, self.limit)).astype(np.int16)
            rows: Any = sp.csr_array((whole, block.indices, block.indptr), shape=block.shape)
            entries = block.data.size
        else:
            dense = block.toarray() if sp.issparse(block) else block
            rows, outside = quantise_rows(dense, self.grid_mean, self.inv_grid, self.limit)
            entries = dense.size
        encode_dense(rows, self.weights[part], epilogue, words=out)
        return Saturated(entries, outside)


def _dense_grid(scaling: Scaling) -> tuple[int, float]:
    """Bits of the grid, and the largest entry that it holds."""
    typical = scaling.norm / np.sqrt(scaling.mean.size)
    reach, bits = scaling.largest_entry, GRID_BITS
    while bits < MOST_GRID_BITS and ((1 << (bits - 1)) - 1) * typical < LEAST_STEPS * reach:
        bits += 1
    return bits, min(reach, ((1 << (bits - 1)) - 1) / LEAST_STEPS * typical * 2)


def _rounded_weights(drawn: Drawn, most: int) -> tuple[npt.NDArray[np.int16], float]:
    """W as 16-bit integers and the scale that makes them W, as fine as exact 32-bit sums allow."""
    m, p = drawn.shape
    step = max(1, 2**20 // p)
    blocks = [slice(start, min(start + step, m)) for start in range(0, m, step)]
    largest = sums = 0.0
    for rows in blocks:
        sizes = np.abs(drawn.materialize(rows, dtype=np.float64))
        largest, sums = max(largest, float(sizes.max())), max(sums, float(sizes.sum(axis=1).max()))
    # Rounding adds half an integer a weight.
    finest = min(32000.0 / largest, ((2**31 - 1) / most - 0.5 * p - 1) / sums)
    scale = float(2.0 ** -np.floor(np.log2(finest)))
    table = np.empty((m, p), dtype=np.int16)
    for rows in blocks:
        table[rows] = np.rint(drawn.materialize(rows, dtype=np.float64) / scale)
    return table, scale


def _times(table: Array, vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The integer table times a vector, in double, block by block."""
    step = max(1, 2**20 // table.shape[1])
    return np.concatenate([table[i : i + step].astype(np.float64) @ vector for i in range(0, len(table), step)])


def _entries(rows: Any) -> Array:
    return np.asarray(rows.data if sp.issparse(rows) else rows)
