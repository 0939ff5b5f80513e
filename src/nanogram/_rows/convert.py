"""From what a source holds to blocks of floats: casting, csr slices, and the search for what is not finite."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = ["Raw", "check_rows_finite", "csr_rows", "to_block"]

Raw: TypeAlias = npt.NDArray[Any] | sp.csr_array


def to_block(chunk: Raw, dtype: np.dtype[Any], keep_sparse: bool) -> Any:
    """A read-only C-contiguous array of the dtype, or a csr array in canonical form."""
    # A value too large for the dtype becomes infinite, which check_rows_finite then reports with its place.
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(chunk, np.ndarray):
            if keep_sparse:
                return sp.csr_array(chunk.astype(dtype))
            block = np.ascontiguousarray(_numbers(chunk) if chunk.dtype.kind == "O" else chunk, dtype=dtype)
        else:
            csr = chunk.astype(dtype, copy=False)
            if keep_sparse:
                csr.sum_duplicates()
                return csr
            block = csr.toarray(order="C")
    # A view, so that the caller's own array keeps its flag.
    block = block.view()
    block.flags.writeable = False
    return block


def _numbers(objects: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """An array of Python objects as floats, or an error that names the first that is not a number."""
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError):
        for (row, column), value in np.ndenumerate(objects):
            try:
                float(value)
            except (TypeError, ValueError) as error:
                text = f"column {column} holds {value!r} (row {row} of its block), which is not a number: {error}"
                raise type(error)(text) from None
        raise


def csr_rows(matrix: sp.csr_array, which: slice | npt.NDArray[np.int64]) -> sp.csr_array:
    """Rows of a csr array as one that shares nothing with it.

    SciPy trusts the indices of a matrix that it did not build, and its compiled loops would read and write wherever
    they point: they are looked at here.
    """
    if isinstance(which, slice):
        pointers = matrix.indptr[which.start : which.stop + 1]
        if (np.diff(pointers) < 0).any() or pointers[0] < 0 or pointers[-1] > len(matrix.indices):
            raise ValueError(f"sparse rows {which.start} to {which.stop - 1} have pointers that are out of order")
        span = slice(int(pointers[0]), int(pointers[-1]))
        indices, data = matrix.indices[span].copy(), matrix.data[span].copy()
        lengths = pointers - pointers[0]
    else:
        counts = matrix.indptr[which + 1] - matrix.indptr[which]
        lengths = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if (counts < 0).any():
            raise ValueError("the sparse matrix has row pointers that are out of order")
        where = np.repeat(matrix.indptr[which] - lengths[:-1], counts) + np.arange(lengths[-1])
        if len(where) and (where.min() < 0 or where.max() >= len(matrix.indices)):
            raise ValueError("the sparse matrix has row pointers beyond its entries")
        indices, data = matrix.indices[where], matrix.data[where]
    if len(indices) and (indices.min() < 0 or indices.max() >= matrix.shape[1]):
        worst = indices.min() if indices.min() < 0 else indices.max()
        raise ValueError(f"the sparse matrix has an entry in column {worst}, but {matrix.shape[1]} columns")
    return sp.csr_array((data, indices, lengths.astype(indices.dtype)), shape=(len(lengths) - 1, matrix.shape[1]))


def check_rows_finite(
    block: Any, start: int, names: tuple[str, ...] | None, rows: npt.NDArray[np.int64] | None = None
) -> None:
    """Refuse NaN and infinity; `start`, or `rows`, tells which rows of the source the block's rows are."""
    values: npt.NDArray[Any] = block if isinstance(block, np.ndarray) else block.data
    with np.errstate(all="ignore"):
        # One addition a value; a sum that is not finite may come from large values alone, hence the second look.
        if np.isfinite(np.add.reduce(values, axis=None)):
            return
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return
    if isinstance(block, np.ndarray):
        at = int(np.argmax(wrong.ravel()))
        row, column = divmod(at, block.shape[1])
        value = values.ravel()[at]
    else:
        at = int(np.argmax(wrong))
        row, column = int(np.searchsorted(block.indptr, at, side="right")) - 1, int(block.indices[at])
        value = values[at]
    place = f"column {column}" + (f" ({names[column]!r})" if names is not None else "")
    what = "NaN" if np.isnan(value) else f"infinity or a value too large for {values.dtype.name}"
    raise ValueError(f"Input X contains {what}: {place}, row {start + row if rows is None else rows[row]}")
