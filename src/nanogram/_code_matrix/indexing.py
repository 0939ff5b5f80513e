"""``Z[rows, columns]``: what an index means, and how packed codes follow it without being unpacked."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nanogram import ops

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]
#: A contiguous range, or indices in 0..length-1.
Index = range | npt.NDArray[np.int64]


def split_key(key: Any) -> tuple[Any, Any]:
    """The row and the column part of what stands in the brackets."""
    if not isinstance(key, tuple):
        return key, slice(None)
    if len(key) > 2 and sum(part is Ellipsis for part in key) == 1:
        key = tuple(part for part in key if part is not Ellipsis)
    if len(key) > 2:
        raise IndexError(f"too many indices: a code matrix has 2 dimensions, but {len(key)} were indexed")
    rows, columns = (*key, slice(None), slice(None))[:2]
    return rows, columns


def resolve(key: Any, length: int, axis: int) -> Index:
    """An index along one axis, in the meanings NumPy gives it; an integer keeps the axis, with length 1."""
    if key is Ellipsis:
        return range(length)
    if isinstance(key, slice):
        chosen = range(*key.indices(length))
        return range(chosen.start, chosen.start + len(chosen)) if chosen.step == 1 else _from_range(chosen)
    if isinstance(key, range):
        key = _from_range(key)
    if isinstance(key, np.ndarray) and key.ndim == 0:
        key = key[()]
    if not isinstance(key, (np.ndarray, list, bool, np.bool)) and hasattr(key, "__index__"):
        at = operator.index(key)
        if not -length <= at < length:
            raise IndexError(f"index {at} is out of bounds for axis {axis} with size {length}")
        at += length * (at < 0)
        return range(at, at + 1)
    array = np.asarray(key)
    if array.size == 0 and isinstance(key, list):
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "bui":
        raise IndexError(
            f"only integers, slices, one-dimensional arrays of integers or booleans and `...` index a code matrix; "
            f"axis {axis} was given {type(key).__name__} of {array.dtype} with {array.ndim} dimensions"
        )
    if array.dtype.kind == "b":
        if array.size != length:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is {length} "
                f"but size of corresponding boolean axis is {array.size}"
            )
        return np.flatnonzero(array).astype(np.int64, copy=False)
    if array.size:
        low, high = int(array.min()), int(array.max())
        if low < -length or high >= length:
            at = low if low < -length else high
            raise IndexError(f"index {at} is out of bounds for axis {axis} with size {length}")
    array = array.astype(np.int64)
    array[array < 0] += length
    return array


def _from_range(chosen: range) -> npt.NDArray[np.int64]:
    return np.arange(chosen.start, chosen.stop, chosen.step, dtype=np.int64)


def is_all(index: Index, length: int) -> bool:
    """Whether the index is everything in order."""
    return isinstance(index, range) and index == range(length)


def as_array(index: Index) -> npt.NDArray[np.int64]:
    """Indices as an array."""
    return _from_range(index) if isinstance(index, range) else index


def take_rows(Z: CodeMatrix, index: Index) -> Array:
    """Storage of the chosen rows: a view where the range covers whole tiles, else a copy."""
    n, m = Z.shape
    layout = Z.code.layout
    if not isinstance(index, range):
        return Z.storage[index] if layout is None else ops.take_rows(Z.storage, layout, Z.shape, index)
    if len(index) == 0:
        return Z.storage[:0]
    if layout is None:
        return Z.storage[index.start : index.stop]
    tile = ops.ROWS_PER_TILE
    if index.start % tile:
        return ops.take_rows(Z.storage, layout, Z.shape, _from_range(index))
    words = Z.storage[index.start // tile : -(-index.stop // tile)]
    if index.stop % tile and index.stop != n:
        words = words.copy()
        words[-1, :, index.stop % tile :] = 0  # beyond the matrix every code is 0
    return words


def take_columns(storage: Array, layout: str | None, shape: tuple[int, int], index: Index) -> Array:
    """Storage of the chosen columns, always contiguous."""
    if layout is None:
        chosen = slice(index.start, index.stop) if isinstance(index, range) else index
        return np.ascontiguousarray(storage[:, chosen])
    if isinstance(index, range):
        per_word = ops.get_layout(layout).per_word
        whole = index.stop % per_word == 0 or index.stop == shape[1]
        if len(index) == 0 or (index.start % per_word == 0 and whole):
            first, last = index.start // per_word, -(-index.stop // per_word) if len(index) else index.start // per_word
            return np.ascontiguousarray(storage[:, first:last])
    return ops.take_columns(storage, layout, shape, as_array(index))
