"""The compute routines in C++, with the signatures of `reference` (arguments already checked by the caller)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._isa import active_isa
from .layouts import Layout
from .reference import LEAST_DIGITS, MOST_DIGITS, TOLERANCES, NotFiniteError, Precision

if TYPE_CHECKING:
    from nanogram import _core
else:  # None where there is no compiled core: this module is imported, but not entered
    from ._isa import _core

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]
Shape = tuple[int, int]


def _isa() -> int:
    level = active_isa()
    assert level is not None, "native routines are entered only when the compiled core is active"
    return level


def pack(codes: Array, layout: Layout) -> Words:
    """See `reference.pack`."""
    return _core.pack(codes, layout.index, _isa())


def unpack(words: Words, layout: Layout, shape: Shape) -> Array:
    """See `reference.unpack`."""
    return _core.unpack(words, layout.index, *shape, _isa())


def unpack_rows(words: Words, layout: Layout, shape: Shape, rows: npt.NDArray[np.int64]) -> Array:
    """See `reference.unpack_rows`."""
    return _core.unpack_rows(words, layout.index, *shape, rows, _isa())


def decode(
    words: Words,
    layout: Layout,
    shape: Shape,
    rows: npt.NDArray[np.int64] | None = None,
    *,
    levels: npt.NDArray[np.float32] | None = None,
    scale: npt.NDArray[np.float64] | None = None,
    offset: npt.NDArray[np.float64] | None = None,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """See `reference.decode`."""
    out = np.empty((shape[0] if rows is None else rows.size, shape[1]), dtype=dtype)
    _core.decode(words, layout.index, *shape, rows, levels, scale, offset, zero2, out, _isa())
    return out


def convert(words: Words, layout: Layout, to_layout: Layout, shape: Shape) -> Words:
    """See `reference.convert`."""
    return _core.convert(words, layout.index, to_layout.index, *shape, _isa())


def take_columns(words: Words, layout: Layout, shape: Shape, columns: npt.NDArray[np.int64]) -> Words:
    """See `reference.take_columns`."""
    return _core.take_columns(words, layout.index, *shape, columns, _isa())


def split_planes(words: Words, shape: Shape) -> tuple[Words, Words, Words]:
    """See `reference.split_planes`."""
    return _core.split_planes(words, *shape, _isa())


def column_sums(words: Words, layout: Layout, shape: Shape) -> npt.NDArray[np.int64]:
    """See `reference.column_sums`."""
    return _core.column_sums(words, layout.index, *shape, _isa())


def row_sums(words: Words, layout: Layout, shape: Shape) -> npt.NDArray[np.int64]:
    """See `reference.row_sums`."""
    return _core.row_sums(words, layout.index, *shape, _isa())


def widen(halves: npt.NDArray[np.float16], out: npt.NDArray[np.float32]) -> None:
    """See `reference.widen`."""
    _core.widen(halves.view(np.uint16).reshape(-1), out.reshape(-1), _isa())


def _product(
    name: str,
    words: Words,
    layout: Layout,
    shape: Shape,
    values: Array,
    zero2: int,
    table: npt.NDArray[np.float64] | None,
    precision: Precision,
) -> npt.NDArray[np.float64]:
    out = np.empty((shape[0] if name == "matmul" else shape[1], values.shape[1]))
    finite = getattr(_core, name)(
        words,
        layout.index,
        *shape,
        values,
        zero2,
        table,
        TOLERANCES[precision],
        LEAST_DIGITS[precision],
        MOST_DIGITS,
        out,
        _isa(),
    )
    if not finite:
        raise NotFiniteError("values must be finite")
    return out


def matmul(
    words: Words,
    layout: Layout,
    shape: Shape,
    values: Array,
    *,
    zero2: int = 0,
    table: npt.NDArray[np.float64] | None = None,
    precision: Precision = "fast",
) -> npt.NDArray[np.float64]:
    """See `reference.matmul`."""
    return _product("matmul", words, layout, shape, values, zero2, table, precision)


def rmatmul(
    words: Words,
    layout: Layout,
    shape: Shape,
    values: Array,
    *,
    zero2: int = 0,
    table: npt.NDArray[np.float64] | None = None,
    precision: Precision = "fast",
) -> npt.NDArray[np.float64]:
    """See `reference.rmatmul`."""
    return _product("rmatmul", words, layout, shape, values, zero2, table, precision)


class Multiplier:
    """Products with one matrix of codes, its arguments checked once.

    ``factor * (Q - zero2 / 2)`` or ``factor * table[Q]`` times ``values``, the same numbers as `matmul` and
    `rmatmul`, rounded once to the dtype of ``values``.
    """

    __slots__ = ("_multiply", "_shape")

    def __init__(
        self,
        words: Words,
        layout: Layout,
        shape: Shape,
        *,
        zero2: int = 0,
        table: npt.NDArray[np.float64] | None = None,
        factor: float = 1.0,
    ) -> None:
        self._shape = shape
        self._multiply = _core.Multiplier(words, layout.index, *shape, zero2, table, factor).multiply

    def __call__(self, values: Array, transpose: bool, precision: Precision, isa: int) -> Array | None:
        """The product, or None where ``values`` is not contiguous, finite float32 or float64 of a fitting shape."""
        if values.dtype.char not in "fd" or not 1 <= values.ndim <= 2:
            return None
        rows = self._shape[1 if transpose else 0]
        out = np.empty(rows if values.ndim == 1 else (rows, values.shape[-1]), values.dtype)
        if self._multiply(values, out, transpose, TOLERANCES[precision], LEAST_DIGITS[precision], isa):
            return out
        return None


def _largest_sum(layout: Layout, zero2: int, length: int) -> int:
    """Most that a sum of ``length`` products of doubled centred codes can be."""
    return max(zero2, 2 * (layout.n_codes - 1) - zero2) ** 2 * length


def gram(
    words: Words,
    layout: Layout,
    shape: Shape,
    other: Words | None = None,
    other_shape: Shape | None = None,
    *,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """See `reference.gram`."""
    columns = shape[1] if other_shape is None else other_shape[1]
    exact = np.float64 if _largest_sum(layout, zero2, shape[0]) >= 2**31 else dtype
    out = np.empty((shape[1], columns), dtype=exact)
    _core.gram(words, shape[0], shape[1], other, columns, layout.index, zero2, out, _isa())
    return out.astype(dtype, copy=False)


def kernel(
    words: Words,
    layout: Layout,
    shape: Shape,
    other: Words | None = None,
    other_shape: Shape | None = None,
    *,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """See `reference.kernel`."""
    rows = shape[0] if other_shape is None else other_shape[0]
    exact = np.float64 if _largest_sum(layout, zero2, shape[1]) >= 2**31 else dtype
    out = np.empty((shape[0], rows), dtype=exact)
    _core.kernel(words, shape[0], other, rows, shape[1], layout.index, zero2, out, _isa())
    return out.astype(dtype, copy=False)
