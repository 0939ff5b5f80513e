"""RowSource: the contract between rows, wherever they are kept, and the loops that read them."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram._rows.convert import Raw, check_rows_finite, to_block
from nanogram._rows.keys import row_keys, smallest_keys

__all__ = ["Block", "RandomAccessSource", "RowSample", "RowSource", "SparseMode", "block_dtype", "row_indices"]

Block: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64] | sp.csr_array
SparseMode: TypeAlias = Literal["dense", "keep"]

# Rows a pass reads at a time when nobody named a block size: 2 MB of float32 at 256 columns.
_PASS_ROWS = 2048


class RowSample(NamedTuple):
    """Rows drawn from a source: their indices, ascending, and the rows themselves."""

    rows: npt.NDArray[np.int64]
    X: Block


def block_dtype(source: np.dtype[Any], asked: npt.DTypeLike | None) -> np.dtype[Any]:
    """The float type of blocks: as asked, else the narrower of float32 and float64 that holds the source's values."""
    if asked is None:
        if source.kind not in "bifu":
            return np.dtype(np.float64)
        return np.dtype(np.float32) if np.result_type(source, np.float32) == np.float32 else np.dtype(np.float64)
    dtype = np.dtype(asked)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype.name} is not a type of blocks: pass float32, float64 or None")
    return dtype.newbyteorder("=")


class RowSource(ABC):
    """Rows of numbers, read block by block.

    Every block loop reads from one of these, so that no loop cares whether its rows are an array, a frame, a file
    or a generator. Build one with `nanogram.rows.as_row_source`. A new kind of source is a subclass with
    `_chunks`, or of `RandomAccessSource` with `_rows`.

    Attributes
    ----------
    n_rows : int or None
        Number of rows; None while a stream has not been read to its end.
    n_columns : int
        Number of columns, at least 1.
    dtype : numpy.dtype
        Type in which the source keeps its values (the common type when columns differ).
    feature_names : tuple of str or None
        Names of the columns, when all of them have one.
    is_sparse : bool
        Whether blocks can be had as csr arrays.
    restartable : bool
        Whether `blocks` can be called more than once.
    random_access : bool
        Whether `take` reads the rows it is asked for and no others.
    mean_entries : float or None
        Stored entries of a row of a sparse source in the mean, where that is known.
    """

    n_rows: int | None
    n_columns: int
    dtype: np.dtype[Any]
    feature_names: tuple[str, ...] | None = None
    is_sparse: bool = False
    restartable: bool = True
    random_access: bool = False
    mean_entries: float | None = None

    @abstractmethod
    def _chunks(self, block_rows: int) -> Iterator[Raw]:
        """Arrays or csr arrays of any number type that make up the rows: block_rows each, the last one fewer."""

    def blocks(
        self,
        block_rows: int,
        dtype: npt.DTypeLike | None = None,
        *,
        sparse: SparseMode = "dense",
        check_finite: bool = True,
    ) -> Iterator[tuple[int, Block]]:
        """Read all rows once, in order.

        Parameters
        ----------
        block_rows : int
            Rows of a block; only the last one has fewer.
        dtype : float32, float64 or None
            Type of the blocks. None: float32 where that holds every value of the source's type, else float64.
        sparse : {"dense", "keep"}
            ``"keep"`` gives the blocks of a sparse source as csr arrays in canonical form.
        check_finite : bool
            Refuse NaN and infinity, with the row and the column of the first.

        Yields
        ------
        start : int
            Index of the block's first row.
        block : ndarray of shape (rows, n_columns), C-contiguous, or csr_array
            Dense blocks are read-only, as they may be views of the source. The source holds no more than one.

        Examples
        --------
        >>> import numpy as np
        >>> from nanogram.rows import as_row_source
        >>> source = as_row_source(np.arange(10, dtype=np.uint8).reshape(5, 2))
        >>> for start, block in source.blocks(3):
        ...     print(start, block.shape, block.dtype, block.sum())
        0 (3, 2) float32 15.0
        3 (2, 2) float32 30.0
        """
        block_rows = positive("block_rows", block_rows)
        if sparse not in ("dense", "keep"):
            raise ValueError(f"sparse={sparse!r} is not known: pass 'dense' or 'keep'")
        return self._pass(block_rows, block_dtype(self.dtype, dtype), dtype is None, sparse == "keep", check_finite)

    def _pass(
        self, block_rows: int, dtype: np.dtype[Any], exact: bool, keep: bool, check_finite: bool
    ) -> Iterator[tuple[int, Block]]:
        start = 0
        for chunk in self._chunks(block_rows):
            if exact and not np.can_cast(block_dtype(chunk.dtype, None), dtype):
                raise ValueError(
                    f"rows from {start} on hold {chunk.dtype}, the rows before them {self.dtype}: name the dtype that "
                    "blocks shall have (dtype='float64')"
                )
            block = to_block(chunk, dtype, keep and self.is_sparse)
            if check_finite and chunk.dtype.kind not in "biu":
                check_rows_finite(block, start, self.feature_names)
            stop = start + block.shape[0]
            del chunk
            yield start, block
            del block
            start = stop

    def take(
        self,
        rows: npt.ArrayLike,
        dtype: npt.DTypeLike | None = None,
        *,
        sparse: SparseMode = "dense",
        check_finite: bool = True,
    ) -> Block:
        """The rows named, in the order named; a row may be named twice.

        A source without random access is read once from start to end; a single-pass one refuses.

        Examples
        --------
        >>> from nanogram.rows import as_row_source
        >>> as_row_source([[1, 2], [3, 4], [5, 6]]).take([2, 0]).tolist()
        [[5.0, 6.0], [1.0, 2.0]]
        """
        if not self.restartable:
            raise TypeError("take() needs rows that can be read again; this source is good for a single pass")
        wanted = row_indices(rows, self.n_rows)
        order = np.argsort(wanted, kind="stable")
        ascending = wanted[order]
        pieces: list[Block] = []
        for start, block in self.blocks(_PASS_ROWS, dtype, sparse=sparse, check_finite=False):
            first, last = np.searchsorted(ascending, [start, start + block.shape[0]])
            if last > first:
                pieces.append(block[ascending[first:last] - start])
        row_indices(wanted, self.n_rows)  # a stream knows its length by now
        whole = self._stacked(pieces, dtype, sparse)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        taken: Block = whole[back]
        if check_finite:
            check_rows_finite(taken, 0, self.feature_names, wanted)
        return taken

    def sample(
        self,
        n: int,
        seed: int = 0,
        dtype: npt.DTypeLike | None = None,
        *,
        sparse: SparseMode = "dense",
        check_finite: bool = True,
    ) -> RowSample:
        """Draw ``n`` rows without replacement (all of them when there are fewer).

        Each row has a random key made from its index and the seed, and the ``n`` smallest keys win: the same rows
        are drawn from an array, a frame and a stream, with or without a known end, in any block size. A stream is
        read once and holds the sample and one block.

        Examples
        --------
        >>> import numpy as np
        >>> from nanogram.rows import as_row_source
        >>> X = np.arange(1000).reshape(500, 2)
        >>> drawn = as_row_source(X).sample(3, seed=1)
        >>> streamed = as_row_source(lambda: iter([X[:200], X[200:]])).sample(3, seed=1)
        >>> (drawn.rows == streamed.rows).all() and (drawn.X == X[drawn.rows]).all()
        np.True_
        """
        n = operator.index(n)
        if n < 0:
            raise ValueError(f"n={n} rows cannot be drawn: n must be at least 0")
        if self.random_access and self.n_rows is not None:
            rows = smallest_keys(n, self.n_rows, seed)
            return RowSample(rows, self.take(rows, dtype, sparse=sparse, check_finite=check_finite))
        rows = np.empty(0, dtype=np.int64)
        keys = np.empty(0, dtype=np.uint64)
        kept: Block = self._stacked([], dtype, sparse)
        for start, block in self.blocks(_PASS_ROWS, dtype, sparse=sparse, check_finite=check_finite):
            fresh_keys = row_keys(seed, start, start + block.shape[0])
            # Until the sample is full everything may enter; then only what beats its largest key.
            fresh = np.arange(len(fresh_keys)) if len(keys) < n else np.flatnonzero(fresh_keys < keys.max(initial=0))
            if not n or not len(fresh):
                continue
            rows = np.concatenate([rows, start + fresh])
            keys = np.concatenate([keys, fresh_keys[fresh]])
            best = np.sort(np.argpartition(keys, n)[:n]) if len(keys) > n else np.arange(len(keys))
            kept = self._stacked([kept, block[fresh]], dtype, sparse)[best]
            rows, keys = rows[best], keys[best]
        return RowSample(rows, kept)

    def _stacked(self, pieces: list[Block], dtype: npt.DTypeLike | None, sparse: SparseMode) -> Block:
        shape, kind = (0, self.n_columns), block_dtype(self.dtype, dtype)
        if sparse == "keep" and self.is_sparse:
            return sp.csr_array(sp.vstack([sp.csr_array(shape, dtype=kind), *pieces], format="csr"))
        stacked: npt.NDArray[Any] = np.concatenate([np.empty(shape, dtype=kind), *pieces])
        return stacked

    def __repr__(self) -> str:
        rows = "unknown" if self.n_rows is None else str(self.n_rows)
        notes = ", sparse" * self.is_sparse + ", single pass" * (not self.restartable)
        return f"{type(self).__name__}(n_rows={rows}, n_columns={self.n_columns}, dtype={self.dtype}{notes})"


class RandomAccessSource(RowSource):
    """A source that can read any rows: subclasses give `_rows` and the attributes."""

    n_rows: int
    random_access = True

    @abstractmethod
    def _rows(self, which: slice | npt.NDArray[np.int64]) -> Raw:
        """The rows of a slice or of an index array, as an array or csr array of any number type."""

    def _chunks(self, block_rows: int) -> Iterator[Raw]:
        for start in range(0, self.n_rows, block_rows):
            yield self._rows(slice(start, min(start + block_rows, self.n_rows)))

    def take(
        self,
        rows: npt.ArrayLike,
        dtype: npt.DTypeLike | None = None,
        *,
        sparse: SparseMode = "dense",
        check_finite: bool = True,
    ) -> Block:
        wanted = row_indices(rows, self.n_rows)
        kind = block_dtype(self.dtype, dtype)
        taken = to_block(self._rows(wanted), kind, sparse == "keep" and self.is_sparse)
        if check_finite:
            check_rows_finite(taken, 0, self.feature_names, wanted)
        return taken


def positive(name: str, value: int) -> int:
    """An integer of at least 1, or an error that names the parameter."""
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{name}={number} must be at least 1")
    return number


def row_indices(rows: npt.ArrayLike, n_rows: int | None) -> npt.NDArray[np.int64]:
    """Indices of rows, checked against the number of rows when it is known."""
    wanted = np.asarray(rows)
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
        raise ValueError(f"rows must be a 1-D array of integers, got {wanted.ndim}-D of {wanted.dtype}")
    wanted = wanted.astype(np.int64)
    outside = wanted[(wanted < 0) | (wanted >= n_rows)] if n_rows is not None else wanted[wanted < 0]
    if len(outside):
        raise IndexError(
            f"row {outside[0]} does not exist: the source has {'unknown' if n_rows is None else n_rows} rows"
        )
    return wanted
