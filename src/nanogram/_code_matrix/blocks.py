"""Decoding a code matrix block by block, so that no operation holds all values at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram.codes import Code

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]
#: Decoded values held at a time, in bytes of float32.
BLOCK_BYTES = 8 << 20
#: float32 products are summed in double at least this often along the axis summed over.
CHUNK = 4096


def row_ranges(n_rows: int, n_columns: int, least: int = 0) -> Iterator[tuple[int, int]]:
    """Ranges of rows that start on a tile and decode to about 8 MB, or to ``least`` rows where that is more."""
    step = max(BLOCK_BYTES // (4 * max(n_columns, 1)), least, 1)
    step = -(-step // ops.ROWS_PER_TILE) * ops.ROWS_PER_TILE
    for start in range(0, n_rows, step):
        yield start, min(start + step, n_rows)


def centred(code: Code) -> tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """``zero2``, scale and offset of a linear decoder, as much of the offset as possible moved into ``zero2``.

    Products lose a fraction of the norm of ``scale (q - zero2 / 2)``. With the zero point where values are 0
    that is the norm of the values themselves, or nearly: an offset of less than half a step at most doubles
    it. One zero point serves all columns, the middle one if they differ.
    """
    scale, offset = np.asarray(code.scale, dtype=np.float64), np.asarray(code.offset, dtype=np.float64)
    if not offset.any():
        return code.zero2, scale, offset
    with np.errstate(over="ignore"):
        wanted = np.clip(code.zero2 - 2 * (offset / scale), 0, 2 * (code.n_levels - 1))
    zero2 = round(float(np.median(wanted)))
    moved = offset + scale * ((zero2 - code.zero2) / 2)
    # What is left of an offset of whole steps is rounding.
    return zero2, scale, np.where(np.abs(moved) <= 2.0**-50 * np.abs(offset), 0.0, moved)


def codes_of_rows(Z: CodeMatrix, start: int, stop: int) -> Array:
    """Codes of the rows from ``start``, a multiple of 16, to ``stop``; the values themselves of a float matrix."""
    if Z.code.layout is None:
        return Z.storage[start:stop]
    tiles = Z.storage[start // ops.ROWS_PER_TILE : -(-stop // ops.ROWS_PER_TILE)]
    return ops.unpack(tiles, Z.code.layout, (stop - start, Z.shape[1]))


def _decoder(code: Code) -> dict[str, Any]:
    """How `ops.decode` is to read the codes."""
    if code.n_columns is None:
        levels = np.asarray(code.code_values, dtype=np.float32)
        # Codes that the layout could hold beyond the code's own levels do not occur; the op wants a value for each.
        return {"levels": np.resize(levels, ops.get_layout(str(code.layout)).n_codes)}
    return {
        "scale": np.broadcast_to(code.scale, code.n_columns),
        "offset": np.broadcast_to(code.offset, code.n_columns),
        "zero2": code.zero2,
    }


def decoded_rows(Z: CodeMatrix, start: int, stop: int) -> npt.NDArray[np.float32]:
    """float32 values of the rows from ``start``, a multiple of 16, to ``stop``."""
    if Z.code.layout is None:
        return Z.code.decode(Z.storage[start:stop])
    tiles = Z.storage[start // ops.ROWS_PER_TILE : -(-stop // ops.ROWS_PER_TILE)]
    return ops.decode(tiles, Z.code.layout, (stop - start, Z.shape[1]), **_decoder(Z.code))


def decoded_index(Z: CodeMatrix, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """float32 values of the rows with these indices."""
    if Z.code.layout is None:
        return Z.code.decode(Z.storage[rows])
    return ops.decode(Z.storage, Z.code.layout, Z.shape, rows, **_decoder(Z.code))
