"""Rows that come in a stream of blocks, and sources put one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram._rows.base import Block, RowSource, SparseMode, block_dtype, row_indices
from nanogram._rows.convert import Raw, check_rows_finite

__all__ = ["PartsSource", "StreamSource", "refilled"]

# Turns one block of a stream, whatever it is, into a source: as_row_source, passed in to keep imports one-way.
Wrap = Callable[[Any], RowSource]


def refilled(blocks: Iterator[Raw], block_rows: int) -> Iterator[Raw]:
    """Blocks of exactly block_rows rows (the last one fewer) from blocks of at most as many.

    A block that is full already passes through uncopied.
    """
    waiting: list[Raw] = []
    n_waiting = 0
    for incoming in blocks:
        used = min(block_rows - n_waiting, incoming.shape[0])
        whole = used == incoming.shape[0]
        waiting.append(incoming if whole else incoming[:used])
        n_waiting += used
        if n_waiting == block_rows:
            yield _joined(waiting)
            waiting, n_waiting = ([], 0) if whole else ([incoming[used:]], incoming.shape[0] - used)
    if n_waiting:
        yield _joined(waiting)


def _joined(pieces: list[Raw]) -> Raw:
    if len(pieces) == 1:
        return pieces[0]
    if all(sp.issparse(piece) for piece in pieces):
        return sp.csr_array(sp.vstack(pieces, format="csr"))
    return np.concatenate([piece if isinstance(piece, np.ndarray) else piece.toarray() for piece in pieces])


class StreamSource(RowSource):
    """Rows from an iterable of blocks, each of them anything that is a source itself.

    The first block is looked at on construction: it states the columns, the type and the names that the others must
    have. `n_rows` is known after the first pass, and the later ones must then find as many.
    """

    def __init__(
        self, blocks: Callable[[], Iterable[Any]] | Iterable[Any], wrap: Wrap, *, single_pass: bool = False
    ) -> None:
        self._open: Callable[[], Iterable[Any]] = blocks if callable(blocks) else lambda: blocks
        self._wrap = wrap
        self.n_rows = None
        self.restartable = not single_pass
        self._used = False
        iterator = iter(self._open())
        if not single_pass and iterator is iter(self._open()):
            raise TypeError(
                "the function returned the same iterator twice, which can be read only once: it must make a fresh one "
                "at each call (as_row_source(..., single_pass=True) accepts it for one pass)"
            )
        try:
            first = self._wrapped(next(iterator), 0)
        except StopIteration:
            raise ValueError("the stream gave no block, so its number of columns is unknown") from None
        # A single-pass stream cannot be rewound over the block that was looked at: it is kept for the pass.
        self._held = (first, iterator) if single_pass else None
        if not single_pass:
            _close(iterator)
        self.n_columns = first.n_columns
        self.dtype = first.dtype
        self.feature_names = first.feature_names
        self.is_sparse = first.is_sparse

    def _wrapped(self, block: Any, number: int) -> RowSource:
        try:
            source = self._wrap(block)
        except (TypeError, ValueError) as error:
            raise type(error)(f"block {number} of the stream: {error}") from error
        if isinstance(source, StreamSource):
            raise TypeError(f"block {number} of the stream is a stream itself: blocks must be arrays or frames")
        return source

    def _chunks(self, block_rows: int) -> Iterator[Raw]:
        if self._used and not self.restartable:
            raise RuntimeError(
                "this source was good for a single pass, which has begun already: pass a function that makes a fresh "
                "iterator of blocks to read the rows more than once"
            )
        self._used = True
        return refilled(self._pieces(block_rows), block_rows)

    def _pieces(self, block_rows: int) -> Iterator[Raw]:
        n_rows = 0
        for number, source in enumerate(self._sources()):
            check_alike(f"block {number} of the stream", "the first block", source, self)
            yield from source._chunks(block_rows)
            n_rows += source.n_rows or 0
            del source
        if self.n_rows is not None and n_rows != self.n_rows:
            raise ValueError(f"the stream gave {self.n_rows} rows on the first pass and {n_rows} on a later one")
        self.n_rows = n_rows

    def _sources(self) -> Iterator[RowSource]:
        number = 0
        if self._held is None:
            iterator = iter(self._open())
        else:
            first, iterator = self._held
            self._held = None
            yield first
            del first
            number = 1
        try:
            for block in iterator:
                yield self._wrapped(block, number)
                number += 1
        finally:
            _close(iterator)


class PartsSource(RowSource):
    """Sources one after the other, as one: their rows in order, blocks filled across their borders."""

    def __init__(self, parts: Sequence[RowSource]) -> None:
        if not parts:
            raise ValueError("from_parts needs at least one part, got an empty list")
        first = next((part for part in parts if part.feature_names is not None), parts[0])
        self._parts = list(parts)
        self.n_columns = first.n_columns
        self.feature_names = first.feature_names
        for number, part in enumerate(parts):
            check_alike(f"part {number}", f"part {parts.index(first)}", part, self)
        self.n_rows = _total(parts)
        self.dtype = np.result_type(*(part.dtype for part in parts))
        # Sparse parts among dense ones are densified block by block; the other way would not save anything.
        self.is_sparse = all(part.is_sparse for part in parts)
        self.restartable = all(part.restartable for part in parts)
        self.random_access = all(part.random_access for part in parts)

    def _chunks(self, block_rows: int) -> Iterator[Raw]:
        yield from refilled((chunk for part in self._parts for chunk in part._chunks(block_rows)), block_rows)
        # Streams among the parts have learnt their length.
        self.n_rows = _total(self._parts)

    def take(
        self,
        rows: npt.ArrayLike,
        dtype: npt.DTypeLike | None = None,
        *,
        sparse: SparseMode = "dense",
        check_finite: bool = True,
    ) -> Block:
        if not self.random_access:
            return super().take(rows, dtype, sparse=sparse, check_finite=check_finite)
        wanted = row_indices(rows, self.n_rows)
        kind = block_dtype(self.dtype, dtype)
        mode: SparseMode = "keep" if sparse == "keep" and self.is_sparse else "dense"
        borders = np.cumsum([0, *(part.n_rows or 0 for part in self._parts)])
        owner = np.searchsorted(borders, wanted, side="right") - 1
        order = np.argsort(owner, kind="stable")
        pieces = [
            part.take(wanted[order][owner[order] == number] - borders[number], kind, sparse=mode, check_finite=False)
            for number, part in enumerate(self._parts)
        ]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        taken: Block = self._stacked(pieces, kind, mode)[back]
        if check_finite:
            check_rows_finite(taken, 0, self.feature_names, wanted)
        return taken


def _total(parts: Sequence[RowSource]) -> int | None:
    counts = [part.n_rows for part in parts if part.n_rows is not None]
    return sum(counts) if len(counts) == len(parts) else None


def check_alike(what: str, model: str, source: RowSource, whole: RowSource) -> None:
    """Refuse a block or part whose columns are not those of the whole."""
    if source.n_columns != whole.n_columns:
        raise ValueError(f"{what} has {source.n_columns} columns, {model} has {whole.n_columns}")
    if source.feature_names is None or whole.feature_names is None:
        return
    for column, (name, expected) in enumerate(zip(source.feature_names, whole.feature_names, strict=True)):
        if name != expected:
            raise ValueError(f"{what} has {name!r} in column {column}, {model} has {expected!r}")


def _close(iterator: Any) -> None:
    close = getattr(iterator, "close", None)
    if callable(close):
        close()
