"""Storage from values or codes, and what a storage array must be."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nanogram import ops
from nanogram.codes import Code

from .blocks import row_ranges

Array = npt.NDArray[Any]
Shape = tuple[int, int]


def storage_spec(code: Code, shape: Shape) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of the storage of ``shape`` codes."""
    layout = code.layout
    if layout is None:
        return shape, np.dtype(code.code_dtype)
    return ops.words_shape(ops.get_layout(layout), *shape), np.dtype(np.uint32)


def checked_shape(shape: Any) -> Shape:
    """Two sizes as plain integers."""
    try:
        n, m = (operator.index(size) for size in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape={shape!r} is not accepted; a pair of integers (rows, columns) is") from None
    if n < 0 or m < 0:
        raise ValueError(f"shape={shape!r} is not accepted; sizes must not be negative")
    return n, m


def checked_code(code: Any, n_columns: int) -> Code:
    """The code, if it can decode that many columns."""
    if not isinstance(code, Code):
        raise TypeError(f"code={code!r} is not a code; see nanogram.codes")
    # A code that is only asked for, its levels not designed yet, raises here and says so.
    _ = code.scale
    if code.n_columns is not None and code.n_columns != n_columns:
        raise ValueError(f"{code!r} is made for {code.n_columns} columns; the matrix has {n_columns}")
    return code


def checked_storage(storage: Any, shape: Shape, code: Code) -> Array:
    """A contiguous, plain, read-only view of the storage (a copy only where it is not contiguous)."""
    if not isinstance(storage, np.ndarray):
        raise TypeError(f"storage is {type(storage).__name__}; a NumPy array is accepted")
    expected, dtype = storage_spec(code, shape)
    if storage.shape != expected or storage.dtype != dtype:
        raise ValueError(
            f"storage is {storage.dtype} of shape {storage.shape}; {shape[0]} x {shape[1]} codes of {code!r} "
            f"need {dtype} of shape {expected}"
        )
    # A file whose header has an odd length maps to addresses between words: copied here once, not in every product.
    view = np.require(storage, requirements=["C_CONTIGUOUS", "ALIGNED"]).view(np.ndarray).view()
    view.flags.writeable = False
    return view


def _matrix(values: Any, name: str) -> Array:
    if sparse.issparse(values):
        raise TypeError(f"{name} is sparse; pass {name}.toarray()")
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; two dimensions (rows, columns) are accepted")
    return array


def storage_from_codes(codes: Any, code: Code) -> tuple[Array, Shape]:
    """Codes packed block by block."""
    codes = _matrix(codes, "codes")
    shape = checked_shape(codes.shape)
    checked_code(code, shape[1])
    storage = np.empty(*storage_spec(code, shape))
    for start, stop in row_ranges(*shape):
        _fill(storage, code, start, stop, codes[start:stop])
    return storage, shape


def storage_from_values(values: Any, code: Code, words: Any, random_state: Any) -> tuple[Array, Shape]:
    """Values encoded and packed block by block, the random words drawn row after row."""
    values = _matrix(values, "values")
    shape = checked_shape(values.shape)
    checked_code(code, shape[1])
    if words is not None and np.shape(words) != shape:
        raise ValueError(f"words has shape {np.shape(words)}; expected {shape}, one a value")
    if words is None and not isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        # One generator for all blocks: a seed given to each of them would repeat the same noise.
        random_state = np.random.default_rng(random_state)
    storage = np.empty(*storage_spec(code, shape))
    for start, stop in row_ranges(*shape):
        noise = None if words is None else words[start:stop]
        _fill(storage, code, start, stop, code.encode(values[start:stop], words=noise, random_state=random_state))
    return storage, shape


def _fill(storage: Array, code: Code, start: int, stop: int, codes: Array) -> None:
    if code.layout is None:
        if codes.dtype.kind not in "fiub":
            raise ValueError(f"codes has dtype {codes.dtype}; real numbers are accepted")
        storage[start:stop] = codes
    else:
        storage[start // ops.ROWS_PER_TILE : -(-stop // ops.ROWS_PER_TILE)] = code.pack(codes)
