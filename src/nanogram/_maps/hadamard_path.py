"""Hadamard projections in 16-bit integers, by `nanogram.ops.encode.encode_hadamard`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram.ops.encode import GridRows, encode_hadamard
from nanogram.ops.encode_reference import hadamard_capacity, hadamard_gain
from nanogram.projections import Hadamard
from nanogram.projections.base import Drawn

from .encoder import Saturated
from .epilogues import Parts, integer_form
from .integer_path import IntegerPath
from .recipe import Recipe
from .scaling import Scaling

__all__ = ["HadamardPath"]

Array = npt.NDArray[Any]

#: Rows larger than this times the root mean square norm may be shrunk by the encoder's guard.
LARGEST_ROW = 8.0
#: Room between the grid that the rows of fit would allow and the one taken.
HEADROOM = 0.9
#: Entries of the rows of fit that the grid is made for. Part of what a fitted map is: another number, other codes.
GRID_ENTRIES = 2**21
#: Phases coarser than this many 2^-16 of a turn are left to the float path.
MOST_MULTIPLIER = 256


@dataclass(frozen=True, eq=False)
class HadamardPath(IntegerPath):
    """Hadamard projections in 16-bit integers."""

    signs: npt.NDArray[np.uint32]

    path = "integer: hadamard"

    @classmethod
    def fit(
        cls, recipe: Recipe, drawn: Drawn, scaling: Scaling, seed: int, bias: npt.NDArray[np.float64], rows: Any
    ) -> Self | None:
        """The path, or None where phases would be too coarse."""
        assert isinstance(drawn.law, Hadamard)
        rounds, size = drawn.law.rounds, 1 << (drawn.n_inputs - 1).bit_length()
        gain = hadamard_gain(size, rounds) * float(size) ** ((rounds - 1) / 2)
        inverse = _hadamard_grid(rows, scaling, rounds)
        parts = Parts(recipe, scaling.scale / (inverse * gain), bias, 2**16)
        if integer_form(recipe) != "step":
            wanted = parts.multiplier
            whole = max(1.0, float(np.ceil(wanted)))
            if not whole <= MOST_MULTIPLIER:
                return None
            inverse *= wanted / whole
            parts = replace(parts, unit=scaling.scale / (inverse * gain))
        return cls(recipe, scaling, seed, inverse, 32767, parts, scaling.beyond, drawn.hadamard_signs())

    @property
    def nbytes(self) -> int:
        return 8 + self.scaling.mean.nbytes + self.signs.nbytes + self.parts.bias.nbytes

    def _encode(self, block: Any, part: int, epilogue: Any, out: Array) -> Saturated:
        dense = block.toarray() if sp.issparse(block) else block
        blocks = -(-self.parts.columns(part) // (1 << (dense.shape[1] - 1).bit_length()))
        grid = GridRows(dense, self.grid_mean, self.inv_grid, self.limit)
        done = encode_hadamard(grid, self.signs[:blocks], epilogue, words=out)
        return Saturated(dense.size, done.n_clipped + done.n_shrunk * dense.shape[1])


def _hadamard_grid(rows: Any, scaling: Scaling, rounds: int) -> float:
    """The finest grid on which no row as large as those of fit is shrunk, in whichever direction of a sampled row."""
    moved = scaling.moved(rows[: max(16, GRID_ENTRIES // rows.shape[1])])
    dense = np.asarray(moved.toarray() if sp.issparse(moved) else moved)
    norms = np.linalg.norm(dense, axis=1)
    capacity = hadamard_capacity(dense, rounds)[norms > 0] * norms[norms > 0]
    largest = min(scaling.largest_norm, LARGEST_ROW * scaling.norm)
    return HEADROOM * float(capacity.min()) / largest if len(capacity) and largest > 0 else 1.0
