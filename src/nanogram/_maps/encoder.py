"""What turns rows into packed codes: the contract between the maps and their paths, and the loop over blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram._code_matrix.build import storage_spec
from nanogram._rows.convert import check_rows_finite
from nanogram.code_matrix import CodeMatrix
from nanogram.codes import Code
from nanogram.rows import RowSource

from .reading import no_rows
from .report import MapReport

__all__ = ["Encoder", "Saturated", "encode_rows", "tile_rows"]

Array = npt.NDArray[Any]
_TILE = 16


class Saturated(NamedTuple):
    """Entries of a block that were compared with a range fixed at fit, and those outside it."""

    entries: int
    outside: int


class Encoder(Protocol):
    """A fitted path from rows to codes; arrays and numbers alone, so that it can be pickled."""

    @property
    def path(self) -> str:
        """What the report calls it."""

    @property
    def grid_bits(self) -> int | None:
        """Bits of the grid of an integer path."""

    @property
    def share_at_fit(self) -> float:
        """Share of the entries of the rows of fit that its range does not hold."""

    @property
    def code(self) -> Code:
        """The code of what is stored."""

    @property
    def n_columns(self) -> int:
        """Columns of the output."""

    @property
    def block_rows(self) -> int:
        """Rows that are encoded together, a multiple of 16."""

    @property
    def nbytes(self) -> int:
        """Bytes the fitted path holds."""

    def noise(self, salt: int) -> Any:
        """What stochastic rounding draws from in one pass; None where nothing is random."""

    def encode_into(self, block: Any, out: Array, noise: Any) -> Saturated:
        """Write the codes of a block of rows (dense or csr) to storage laid out for as many rows."""


def tile_rows(rows: int) -> int:
    """So many rows in whole tiles of 16, one tile at least."""
    return max(_TILE, rows // _TILE * _TILE)


def encode_rows(encoder: Encoder, source: RowSource, output: str, salt: int, report: MapReport) -> Any:
    """All rows of a source as a CodeMatrix, or as the float32 array of what it decodes to."""
    noise, code = encoder.noise(salt), encoder.code
    m, step = encoder.n_columns, encoder.block_rows
    # Encoders that keep sparse rows sparse, and pay by the block, take more of them at a time.
    of_sparse: Any = getattr(encoder, "sparse_block_rows", None)
    if of_sparse is not None and source.is_sparse and source.mean_entries is not None:
        step = of_sparse(source.mean_entries)
    target = _Growing(source.n_rows, m, code, output == "array")
    entries = outside = 0
    # A grid clips whatever is not finite, and counts it: dense rows that lost nothing to it need no second look.
    looked_at = source.is_sparse or encoder.grid_bits is None
    for start, block in source.blocks(step, sparse="keep", check_finite=looked_at):
        n = block.shape[0]
        if output == "array":
            scratch = np.empty(*storage_spec(code, (n, m)))
            seen = encoder.encode_into(block, scratch, noise)
            for part, values in _decoded(code, scratch, (n, m)):
                target.view(start + part.start, start + part.stop)[...] = values
        else:
            seen = encoder.encode_into(block, target.view(start, start + n), noise)
        if seen.outside and not looked_at:
            check_rows_finite(block, start, source.feature_names)
        entries, outside = entries + seen.entries, outside + seen.outside
    if not target.n_rows:
        raise no_rows(source.n_columns)
    report.count(target.n_rows, entries, outside, stacklevel=5)
    finished = target.finished()
    return finished if output == "array" else CodeMatrix(finished, (target.n_rows, m), code)


def _decoded(code: Code, storage: Array, shape: tuple[int, int]) -> Iterator[tuple[slice, Array]]:
    """Decoded values of a block, a few tiles at a time."""
    step = tile_rows(2**20 // max(shape[1], 1))
    for start in range(0, shape[0], step):
        rows = slice(start, min(start + step, shape[0]))
        count = rows.stop - start
        part = storage[rows] if code.layout is None else storage[start // _TILE : -(-rows.stop // _TILE)]
        yield rows, code.decode(code.unpack(part, (count, shape[1])))


class _Growing:
    """Storage for rows whose number may not be known beforehand; grown by a quarter where it must be."""

    def __init__(self, n_rows: int | None, m: int, code: Code, as_array: bool) -> None:
        # Asked once: codes look through their levels each time.
        layout = None if as_array else code.layout
        self._layout = None if layout is None else ops.get_layout(layout)
        self._m, self._dtype = m, np.dtype(np.float32 if as_array else code.code_dtype if layout is None else np.uint32)
        # A stream knows its length only at its end, and not always then.
        self._known = n_rows is not None
        self.n_rows = 0
        self._storage = np.empty(self._shape(n_rows or 0), self._dtype)

    def _shape(self, n: int) -> tuple[int, ...]:
        return (n, self._m) if self._layout is None else ops.words_shape(self._layout, n, self._m)

    def _slice(self, start: int, stop: int) -> slice:
        return slice(start, stop) if self._layout is None else slice(start // _TILE, -(-stop // _TILE))

    def view(self, start: int, stop: int) -> Array:
        """Where rows start to stop go; start is a multiple of 16 where rows are packed."""
        wanted = self._slice(start, stop)
        if wanted.stop > len(self._storage):
            shape = self._shape(max(stop, self.n_rows + self.n_rows // 4))
            # Nobody else refers to it: views handed out are dropped block by block.
            self._storage.resize(shape, refcheck=False)
        self.n_rows = max(self.n_rows, stop)
        return self._storage[wanted]

    def finished(self) -> Array:
        """The storage, of its final size."""
        shape = self._shape(self.n_rows)
        if self._storage.shape != shape:
            self._storage.resize(shape, refcheck=False)
        return self._storage
