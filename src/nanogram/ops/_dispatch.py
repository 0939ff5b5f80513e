"""The ops as callers see them: arguments made plain here, computed by `reference` or `native`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from . import native, reference
from ._isa import REFERENCE, active_isa, available_isas
from .layouts import ROWS_PER_TILE, Layout, get_layout, words_shape
from .reference import Precision

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]
Shape = tuple[int, int]


def _backend() -> ModuleType:
    return reference if active_isa() is None else native


def _plain(array: Any, dtype: npt.DTypeLike | None = None) -> Array:
    """C-contiguous and aligned: a memory map or a buffer may start anywhere, C++ may not read a word from there."""
    return np.require(array, dtype=dtype, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _words(words: Array, layout: Layout, shape: Shape) -> Words:
    expected = words_shape(layout, *shape)
    if words.shape != expected or words.dtype != np.uint32:
        raise ValueError(
            f"words has shape {words.shape} and dtype {words.dtype}; "
            f"{shape[0]} x {shape[1]} codes in layout {layout.name!r} need uint32 of shape {expected}"
        )
    return _plain(words)


def _codes(codes: Array) -> Array:
    codes = np.asarray(codes)
    if codes.ndim != 2:
        raise ValueError(f"codes must have two dimensions, not shape {codes.shape}")
    if codes.dtype.kind not in "bui":
        raise ValueError(f"codes must be integers, not {codes.dtype}")
    if codes.dtype.kind == "i" and codes.size and int(codes.min()) < 0:
        raise ValueError(f"codes start at 0; found {int(codes.min())}")
    if codes.dtype not in (np.uint8, np.uint16):
        if codes.size and int(codes.max()) > 65535:
            raise ValueError(f"codes go up to {int(codes.max())}; at most 65535 can be stored")
        codes = codes.astype(np.uint16)
    return _plain(codes)


def _index(index: npt.ArrayLike, length: int, name: str) -> npt.NDArray[np.int64]:
    array = np.asarray(index)
    if array.ndim != 1 or array.dtype.kind not in "ui":
        raise ValueError(f"{name} must be a one-dimensional array of integers")
    array = _plain(array, np.int64)
    if array.size and (int(array.min()) < 0 or int(array.max()) >= length):
        raise IndexError(f"{name} must lie in 0..{length - 1}; found {int(array.min())}..{int(array.max())}")
    return array


def pack(codes: npt.ArrayLike, layout: str | Layout) -> Words:
    """Store codes (n, m), each below the layout's ``n_codes``, as words.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import ops
    >>> words = ops.pack(np.array([[1, 0, 2], [2, 2, 1]]), "t5")
    >>> ops.unpack(words, "t5", (2, 3))
    array([[1, 0, 2],
           [2, 2, 1]], dtype=uint8)
    """
    result: Words = _backend().pack(_codes(np.asarray(codes)), get_layout(layout))
    return result


def unpack(words: Array, layout: str | Layout, shape: Shape) -> Array:
    """Codes (n, m) of the words, ``uint8`` (``uint16`` for layout u16)."""
    layout = get_layout(layout)
    result: Array = _backend().unpack(_words(words, layout, shape), layout, shape)
    return result


def unpack_rows(words: Array, layout: str | Layout, shape: Shape, rows: npt.ArrayLike) -> Array:
    """Codes of the rows with these indices, in their order."""
    layout = get_layout(layout)
    index = _index(rows, shape[0], "rows")
    result: Array = _backend().unpack_rows(_words(words, layout, shape), layout, shape, index)
    return result


def decode(
    words: Array,
    layout: str | Layout,
    shape: Shape,
    rows: npt.ArrayLike | None = None,
    *,
    levels: npt.ArrayLike | None = None,
    scale: npt.ArrayLike | None = None,
    offset: npt.ArrayLike | None = None,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """Values of the codes of all rows, or of those with these indices, as float32 or float64.

    They are ``levels[q]`` when ``levels`` is given (one float32 for each code the layout can hold), else
    ``scale * (q - zero2 / 2) + offset`` with ``scale`` and ``offset`` by column, computed in double and
    rounded to float32.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import ops
    >>> words = ops.pack(np.array([[1, 0, 2]]), "t5")
    >>> ops.decode(words, "t5", (1, 3), levels=[-1, 0, 1])
    array([[ 0., -1.,  1.]], dtype=float32)
    """
    layout = get_layout(layout)
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} is not offered; choose float32 or float64")
    if (levels is None) == (scale is None) or (scale is None) != (offset is None):
        raise ValueError("give either levels, or scale and offset")
    index = None if rows is None else _index(rows, shape[0], "rows")
    values: dict[str, Array] = {}
    if levels is not None:
        values["levels"] = _plain(levels, np.float32)
        expected = layout.n_codes
    else:
        values["scale"] = _plain(scale, np.float64)
        values["offset"] = _plain(offset, np.float64)
        expected = shape[1]
    for name, array in values.items():
        if array.shape != (expected,):
            raise ValueError(f"{name} has shape {array.shape}; expected ({expected},)")
    result: Array = _backend().decode(
        _words(words, layout, shape), layout, shape, index, zero2=zero2, dtype=dtype, **values
    )
    return result


def convert(words: Array, layout: str | Layout, to_layout: str | Layout, shape: Shape) -> Words:
    """The same codes in another layout; a code that does not fit there is refused."""
    layout, to_layout = get_layout(layout), get_layout(to_layout)
    words = _words(words, layout, shape)
    if layout is to_layout:
        return words
    result: Words = _backend().convert(words, layout, to_layout, shape)
    return result


def take_rows(words: Array, layout: str | Layout, shape: Shape, rows: npt.ArrayLike) -> Words:
    """Words of the matrix with these rows, in their order; codes are moved, never unpacked."""
    layout = get_layout(layout)
    words = _words(words, layout, shape)
    index = _index(rows, shape[0], "rows")
    groups, columns, lanes = words_shape(layout, index.size, shape[1])
    taken = np.zeros((groups, columns, lanes), dtype=np.uint32)
    # Some 16 MB of rows at a time: the gathered block is transposed into its tiles and dropped.
    step = max(1, 2**22 // max(columns, 1) // lanes) * lanes
    for start in range(0, index.size, step):
        part = index[start : start + step]
        gathered = words[part // ROWS_PER_TILE, :, part % ROWS_PER_TILE]
        whole = part.size // lanes
        group = start // lanes
        taken[group : group + whole] = gathered[: whole * lanes].reshape(whole, lanes, columns).transpose(0, 2, 1)
        if part.size % lanes:
            taken[group + whole, :, : part.size % lanes] = gathered[whole * lanes :].T
    return taken


def take_columns(words: Array, layout: str | Layout, shape: Shape, columns: npt.ArrayLike) -> Words:
    """Words of the matrix with these columns, in their order."""
    layout = get_layout(layout)
    index = _index(columns, shape[1], "columns")
    result: Words = _backend().take_columns(_words(words, layout, shape), layout, shape, index)
    return result


def split_planes(words: Array, shape: Shape) -> tuple[Words, Words, Words]:
    """Of two-bit codes ``b0 + 2 b1`` the bit matrices b0, b1 and b0 & b1, each in layout u1."""
    layout = get_layout("u2")
    result: tuple[Words, Words, Words] = _backend().split_planes(_words(words, layout, shape), shape)
    return result


def column_sums(words: Array, layout: str | Layout, shape: Shape) -> npt.NDArray[np.int64]:
    """Sum of the codes of each column, exact."""
    layout = get_layout(layout)
    result: npt.NDArray[np.int64] = _backend().column_sums(_words(words, layout, shape), layout, shape)
    return result


def row_sums(words: Array, layout: str | Layout, shape: Shape) -> npt.NDArray[np.int64]:
    """Sum of the codes of each row, exact."""
    layout = get_layout(layout)
    result: npt.NDArray[np.int64] = _backend().row_sums(_words(words, layout, shape), layout, shape)
    return result


def widen(halves: Array, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
    """float16 as float32, exactly, in ``out`` (C-contiguous, of the same shape) if given.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import ops
    >>> ops.widen(np.array([0.5, -2.0], dtype=np.float16))
    array([ 0.5, -2. ], dtype=float32)
    """
    if halves.dtype != np.float16:
        raise ValueError(f"halves has dtype {halves.dtype}; expected float16")
    if out is None:
        out = np.empty(halves.shape, dtype=np.float32)
    elif out.shape != halves.shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(
            f"out has shape {out.shape} and dtype {out.dtype}; expected C-contiguous float32 {halves.shape}"
        )
    _backend().widen(_plain(halves), out)
    return out


def _right_hand_side(values: npt.ArrayLike, length: int) -> Array:
    values = np.asarray(values)
    if values.ndim != 2 or values.shape[0] != length:
        raise ValueError(f"values has shape {values.shape}; expected ({length}, k)")
    if values.dtype.kind not in "buif":
        raise ValueError(f"values must be real numbers, not {values.dtype}")
    if values.dtype != np.float32:
        values = values.astype(np.float64, copy=False)
    return _plain(values)


def _product_arguments(
    layout: Layout, zero2: int, table: npt.ArrayLike | None, precision: Precision
) -> npt.NDArray[np.float64] | None:
    if precision not in reference.TOLERANCES:
        raise ValueError(f"precision={precision!r} is unknown; choose one of {', '.join(reference.TOLERANCES)}")
    if not 0 <= zero2 <= 2 * (layout.n_codes - 1):
        raise ValueError(f"zero2={zero2} is outside 0..{2 * (layout.n_codes - 1)} for layout {layout.name!r}")
    if table is None:
        return None
    levels = _plain(table, np.float64)
    if layout.name != "u2" or levels.shape != (4,):
        raise ValueError(f"table needs 4 levels and layout 'u2', not shape {levels.shape} and {layout.name!r}")
    return levels


def matmul(
    words: Array,
    layout: str | Layout,
    shape: Shape,
    values: npt.ArrayLike,
    *,
    zero2: int = 0,
    table: npt.ArrayLike | None = None,
    precision: Precision = "fast",
) -> npt.NDArray[np.float64]:
    """``(Q - zero2 / 2) @ values`` for finite ``values`` (m, k), or ``table[Q] @ values`` (layout u2)."""
    layout = get_layout(layout)
    levels = _product_arguments(layout, zero2, table, precision)
    result: npt.NDArray[np.float64] = _backend().matmul(
        _words(words, layout, shape),
        layout,
        shape,
        _right_hand_side(values, shape[1]),
        zero2=zero2,
        table=levels,
        precision=precision,
    )
    return result


def rmatmul(
    words: Array,
    layout: str | Layout,
    shape: Shape,
    values: npt.ArrayLike,
    *,
    zero2: int = 0,
    table: npt.ArrayLike | None = None,
    precision: Precision = "fast",
) -> npt.NDArray[np.float64]:
    """``(Q - zero2 / 2).T @ values`` for finite ``values`` (n, k), or ``table[Q].T @ values`` (layout u2)."""
    layout = get_layout(layout)
    levels = _product_arguments(layout, zero2, table, precision)
    result: npt.NDArray[np.float64] = _backend().rmatmul(
        _words(words, layout, shape),
        layout,
        shape,
        _right_hand_side(values, shape[0]),
        zero2=zero2,
        table=levels,
        precision=precision,
    )
    return result


def multiplier(
    words: Array,
    layout: str | Layout,
    shape: Shape,
    *,
    zero2: int = 0,
    table: npt.ArrayLike | None = None,
    factor: float = 1.0,
) -> native.Multiplier | None:
    """Products with one matrix again and again (`native.Multiplier`); None without the compiled core."""
    if available_isas() == (REFERENCE,):
        return None
    layout = get_layout(layout)
    levels = _product_arguments(layout, zero2, table, "fast")
    return native.Multiplier(_words(words, layout, shape), layout, shape, zero2=zero2, table=levels, factor=factor)


def _code_product(
    name: str,
    words: Array,
    layout: str | Layout,
    shape: Shape,
    other: Array | None,
    other_shape: Shape | None,
    zero2: int,
    dtype: npt.DTypeLike,
) -> Array:
    layout = get_layout(layout)
    _product_arguments(layout, zero2, None, "fast")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} is not offered; choose float32 or float64")
    if (other is None) != (other_shape is None):
        raise ValueError("other and other_shape go together")
    if other is not None and other_shape is not None:
        shared = 0 if name == "gram" else 1
        if other_shape[shared] != shape[shared]:
            raise ValueError(f"shapes {shape} and {other_shape} do not agree along axis {shared}")
        other = _words(other, layout, other_shape)
    result: Array = getattr(_backend(), name)(
        _words(words, layout, shape), layout, shape, other, other_shape, zero2=zero2, dtype=dtype
    )
    return result


def gram(
    words: Array,
    layout: str | Layout,
    shape: Shape,
    other: Array | None = None,
    other_shape: Shape | None = None,
    *,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """``C.T @ D`` with ``C = Q - zero2 / 2`` and D likewise of ``other`` (default C); exact integer sums."""
    return _code_product("gram", words, layout, shape, other, other_shape, zero2, dtype)


def kernel(
    words: Array,
    layout: str | Layout,
    shape: Shape,
    other: Array | None = None,
    other_shape: Shape | None = None,
    *,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """``C @ D.T`` with ``C = Q - zero2 / 2`` and D likewise of ``other`` (default C); exact integer sums."""
    return _code_product("kernel", words, layout, shape, other, other_shape, zero2, dtype)
