"""Integer paths: rows on a grid fixed at fit, exact sums, codes that are the same to the bit everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram.codes import Code, UniformCode
from nanogram.projections.counter import Stream

from .encoder import Saturated, tile_rows
from .epilogues import Parts
from .recipe import Recipe
from .scaling import Scaling

__all__ = ["IntegerPath"]

Array = npt.NDArray[Any]

#: Entries of one block of rows, and bytes of its packed codes.
BLOCK_ENTRIES = 2**22
BLOCK_BYTES = 2**25
#: Accumulators of one block where NumPy makes them.
REFERENCE_ENTRIES = 2**19


@dataclass(frozen=True, eq=False)
class IntegerPath:
    """What the two have in common; see `nanogram._maps.encoder.Encoder`."""

    recipe: Recipe
    scaling: Scaling
    seed: int
    inv_grid: float
    limit: int
    parts: Parts
    share_at_fit: float

    @property
    def code(self) -> Code:
        return self.recipe.stored_code

    @property
    def n_columns(self) -> int:
        return self.recipe.n_components

    @property
    def block_rows(self) -> int:
        packed = int(BLOCK_BYTES * 8 / (self.code.bits * self.n_columns))
        if ops.active_isa() is None:
            # The encoders of the specification hold every accumulator of a block, several times over.
            packed = REFERENCE_ENTRIES // self.n_columns
        return tile_rows(min(BLOCK_ENTRIES // self.scaling.mean.size, packed))

    @property
    def grid_bits(self) -> int:
        return int(self.limit).bit_length() + 1

    def noise(self, salt: int) -> tuple[Any, ...]:
        """The epilogues of one pass: with thresholds as they are, with rounding those of the salt."""
        code = self.recipe.code
        stochastic = isinstance(code, UniformCode) and code.rounding == "stochastic"
        purposes = ("map.rounding", "map.rounding.sine")
        return tuple(
            self.parts.epilogue(part, Stream(self.seed, purposes[part], salt) if stochastic else None)
            for part in range(self.parts.n_parts)
        )

    def encode_into(self, block: Any, out: Array, noise: tuple[Any, ...]) -> Saturated:
        n = block.shape[0]
        if n % ops.ROWS_PER_TILE:
            # Rows that fill up the last tile hold code 0.
            out[-1] = 0
        if len(noise) == 1:
            return self._encode(block, 0, noise[0], out)
        widths = [self.parts.columns(part) for part in range(2)]
        layout = ops.get_layout(noise[0].layout)
        pieces = [np.zeros(ops.words_shape(layout, n, width), dtype=np.uint32) for width in widths]
        seen = self._encode(block, 0, noise[0], pieces[0])
        self._encode(block, 1, noise[1], pieces[1])
        if widths[0] % layout.per_word:
            codes = [ops.unpack(piece, layout, (n, width)) for piece, width in zip(pieces, widths, strict=True)]
            out[...] = ops.pack(np.concatenate(codes, axis=1), layout)
        else:
            np.concatenate(pieces, axis=1, out=out)
        return seen

    def _encode(self, block: Any, part: int, epilogue: Any, out: Array) -> Saturated:
        raise NotImplementedError

    @property
    def grid_mean(self) -> npt.NDArray[np.float64]:
        """What is taken off rows before they go on the grid."""
        return self.scaling.mean if self.scaling.shifted else np.zeros_like(self.scaling.mean)
