"""Packed storage layouts: how codes become 32-bit words.

A code matrix of ``n`` rows and ``m`` columns is stored as tiles of 16 rows by one word: a
little-endian ``uint32`` array of shape ``(ceil(n / 16), ceil(m / per_word), 16)``. Element
``[g, c, r]`` holds the codes of row ``16 g + r`` in columns ``c * per_word`` and following, the
first of them in the lowest bits. Rows and columns beyond the matrix hold code 0.

One 64-byte tile is one AVX-512 register: 16 rows side by side for ``Z @ v``, and after a byte
transpose within it 4 rows side by side for ``Z.T @ r``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

__all__ = ["LAYOUTS", "ROWS_PER_TILE", "Layout", "get_layout", "words_shape"]

ROWS_PER_TILE: Final = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to store codes in 32-bit words.

    Attributes
    ----------
    name : str
        ``"u1" "u2" "u4" "u8" "u16"`` for plain binary fields, ``"t5"`` for five trits a byte.
    index : int
        The number by which the compiled core knows the layout.
    per_word : int
        Codes in a 32-bit word.
    n_codes : int
        Codes run from 0 to ``n_codes - 1``.
    """

    name: str
    index: int
    per_word: int
    n_codes: int

    @property
    def bits(self) -> float:
        """Stored bits a code (1.6 for ``"t5"``)."""
        return 32 / self.per_word

    @property
    def code_dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """The unsigned type of unpacked codes."""
        return np.dtype(np.uint16) if self.n_codes > 256 else np.dtype(np.uint8)


LAYOUTS: Final = {
    layout.name: layout
    for layout in (
        Layout("u1", 0, 32, 2),
        Layout("u2", 1, 16, 4),
        Layout("u4", 2, 8, 16),
        Layout("u8", 3, 4, 256),
        Layout("u16", 4, 2, 65536),
        Layout("t5", 5, 20, 3),
    )
}


def get_layout(layout: str | Layout) -> Layout:
    """The layout of that name (a `Layout` passes through)."""
    if isinstance(layout, Layout):
        return layout
    try:
        return LAYOUTS[layout]
    except KeyError:
        raise ValueError(f"layout={layout!r} is unknown; choose one of {', '.join(LAYOUTS)}") from None


def words_shape(layout: Layout, n_rows: int, n_columns: int) -> tuple[int, int, int]:
    """Shape of the word array that holds ``n_rows`` x ``n_columns`` codes."""
    return (-(-n_rows // ROWS_PER_TILE), -(-n_columns // layout.per_word), ROWS_PER_TILE)
