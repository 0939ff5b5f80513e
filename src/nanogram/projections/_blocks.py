"""Which rows, which columns, which input: arguments of drawn projections brought to one form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["WORKSPACE", "checked_input", "checked_out", "consecutive", "dense_rows", "resolved"]

Array = npt.NDArray[Any]

#: Bytes of W, or of transformed rows, made at a time.
WORKSPACE: Final = 1 << 22


def resolved(name: str, index: Any, end: int) -> range | npt.NDArray[np.int64]:
    """The numbers below ``end`` that an index means: a range where they are consecutive."""
    if index is None:
        return range(end)
    if isinstance(index, slice):
        numbers = range(end)[index]
        return numbers if numbers.step == 1 else np.arange(numbers.start, numbers.stop, numbers.step)
    array = np.asarray(index)
    if array.shape == (0,):
        return range(0)
    if array.ndim != 1 or array.dtype.kind not in "iub" or (array.dtype.kind == "b" and len(array) != end):
        raise ValueError(
            f"{name} has dtype {array.dtype} and shape {array.shape}; a slice, a range, a mask of {end} or a 1-D "
            "array of integers is accepted"
        )
    if array.dtype.kind == "b":
        array = np.flatnonzero(array)
    elif int(array.min()) < -end or int(array.max()) >= end:
        raise ValueError(f"{name} runs from {array.min()} to {array.max()}; 0 to {end - 1} is accepted")
    array = array.astype(np.int64)
    array = np.where(array < 0, array + end, array)
    if len(array) and bool((np.diff(array) == 1).all()):
        return range(int(array[0]), int(array[-1]) + 1)
    return array


def consecutive(name: str, index: slice | None, end: int) -> range:
    """The range that a slice of step 1 means."""
    numbers = range(end)[slice(None) if index is None else index]
    if numbers.step != 1:
        raise ValueError(f"{name}={index!r} must be a slice of step 1")
    return range(numbers.start, max(numbers.start, numbers.stop))


def checked_input(X: Any, n_inputs: int) -> Any:
    """Rows as an ndarray or in CSR, of a real type."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {X.dtype}; real numbers are accepted")
    if X.ndim != 2 or X.shape[1] != n_inputs:
        raise ValueError(f"X has shape {X.shape}; rows of {n_inputs} columns are accepted")
    return X


def checked_out(out: Any, X: Any, n_features: int) -> Array:
    """``out`` if it fits, or a new array."""
    shape = (X.shape[0], n_features)
    if out is None:
        return np.empty(shape, dtype=np.float32 if np.can_cast(X.dtype, np.float32) else np.float64)
    if not isinstance(out, np.ndarray) or out.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"out={type(out).__name__} must be an ndarray of float32 or float64")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; {shape} is accepted")
    return out


def dense_rows(X: Any, dtype: np.dtype[Any], width: int) -> Iterator[tuple[slice, Array]]:
    """Blocks of rows, dense and of the type wanted, such that ``width`` numbers a row fit the workspace."""
    step = max(1, WORKSPACE // (width * dtype.itemsize))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = X[rows].astype(dtype, copy=False)
        yield rows, block.toarray() if sparse.issparse(block) else block
