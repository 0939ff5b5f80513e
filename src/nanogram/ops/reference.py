"""The compute routines in NumPy: slow, readable, and the specification of the compiled ones.

Every routine here is integer arithmetic or a fixed sequence of IEEE double operations, so the
compiled core must return the same bits, on every instruction set and with any number of threads.
Codes are ``q``; a routine that takes ``zero2`` works on the centred codes ``q - zero2 / 2``, which
makes the levels of a uniform or ternary code symmetric without leaving the integers.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .layouts import LAYOUTS, ROWS_PER_TILE, Layout, words_shape

__all__ = [
    "TOLERANCES",
    "Digits",
    "NotFiniteError",
    "column_sums",
    "convert",
    "decode",
    "gram",
    "kernel",
    "matmul",
    "pack",
    "quantise",
    "rmatmul",
    "row_sums",
    "split_planes",
    "take_columns",
    "unpack",
    "unpack_rows",
    "widen",
]

Array = npt.NDArray[Any]
Precision = Literal["fast", "float32"]

#: Relative error (root mean square) that a right-hand side may lose on its way to integers.
TOLERANCES: dict[str, float] = {"fast": 5e-5, "float32": 1e-6}
#: Fewest base-256 digits a right-hand side is given.
LEAST_DIGITS: dict[str, int] = {"fast": 2, "float32": 3}
MOST_DIGITS = 4


# --------------------------------------------------------------------------- packing


def pack(codes: Array, layout: Layout) -> npt.NDArray[np.uint32]:
    """Codes (n, m) to words; codes must be below ``layout.n_codes``."""
    n, m = codes.shape
    if codes.size and int(codes.max()) >= layout.n_codes:
        raise ValueError(f"codes go up to {int(codes.max())}; layout {layout.name!r} holds 0 to {layout.n_codes - 1}")
    groups, columns, _ = words_shape(layout, n, m)
    padded = np.zeros((groups * ROWS_PER_TILE, columns * layout.per_word), dtype=np.uint32)
    padded[:n, :m] = codes
    if layout.name == "t5":
        trits = padded.reshape(len(padded), columns, 4, 5)
        fields = trits @ np.array([1, 3, 9, 27, 81], dtype=np.uint32)
        bits = 8
    else:
        fields = padded.reshape(len(padded), columns, layout.per_word)
        bits = 32 // layout.per_word
    shifts = np.arange(fields.shape[-1], dtype=np.uint32) * np.uint32(bits)
    words = np.bitwise_or.reduce(fields << shifts, axis=-1)
    return np.ascontiguousarray(words.reshape(groups, ROWS_PER_TILE, columns).transpose(0, 2, 1), dtype=np.uint32)


def unpack(words: npt.NDArray[np.uint32], layout: Layout, shape: tuple[int, int]) -> Array:
    """Words to codes (n, m), ``uint8`` or ``uint16``."""
    n, m = shape
    groups, columns, _ = words.shape
    rows = words.transpose(0, 2, 1).reshape(groups * ROWS_PER_TILE, columns)
    if layout.name == "t5":
        bytes_ = (rows[..., None] >> (np.arange(4, dtype=np.uint32) * np.uint32(8))) & np.uint32(255)
        codes = bytes_[..., None] // np.array([1, 3, 9, 27, 81], dtype=np.uint32) % np.uint32(3)
    else:
        bits = 32 // layout.per_word
        shifts = np.arange(layout.per_word, dtype=np.uint32) * np.uint32(bits)
        codes = (rows[..., None] >> shifts) & np.uint32(layout.n_codes - 1)
    return codes.reshape(groups * ROWS_PER_TILE, columns * layout.per_word)[:n, :m].astype(layout.code_dtype)


def unpack_rows(
    words: npt.NDArray[np.uint32], layout: Layout, shape: tuple[int, int], rows: npt.NDArray[np.int64]
) -> Array:
    """Codes of the given rows, in their order."""
    return unpack(words, layout, shape)[rows]


def decode(
    words: npt.NDArray[np.uint32],
    layout: Layout,
    shape: tuple[int, int],
    rows: npt.NDArray[np.int64] | None = None,
    *,
    levels: npt.NDArray[np.float32] | None = None,
    scale: npt.NDArray[np.float64] | None = None,
    offset: npt.NDArray[np.float64] | None = None,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """Values of all or some rows: ``levels[Q]``, or ``scale * (Q - zero2 / 2) + offset`` rounded to float32."""
    codes = unpack(words, layout, shape)
    if rows is not None:
        codes = codes[rows]
    if levels is not None:
        return levels[codes].astype(dtype)
    assert scale is not None, "levels, or scale and offset"
    assert offset is not None, "levels, or scale and offset"
    return (scale * (codes.astype(np.float64) - zero2 / 2) + offset).astype(np.float32).astype(dtype)


def convert(
    words: npt.NDArray[np.uint32], layout: Layout, to_layout: Layout, shape: tuple[int, int]
) -> npt.NDArray[np.uint32]:
    """The same codes in another layout."""
    return pack(unpack(words, layout, shape), to_layout)


def take_columns(
    words: npt.NDArray[np.uint32], layout: Layout, shape: tuple[int, int], columns: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """Words of the matrix with these columns, in their order."""
    return pack(unpack(words, layout, shape)[:, columns], layout)


def split_planes(
    words: npt.NDArray[np.uint32], shape: tuple[int, int]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Of codes b0 + 2 b1 in layout u2: the bit matrices b0, b1, b0 & b1 in layout u1."""
    codes = unpack(words, LAYOUTS["u2"], shape)
    low, high = codes & 1, codes >> 1
    one_bit = LAYOUTS["u1"]
    return pack(low, one_bit), pack(high, one_bit), pack(low & high, one_bit)


def column_sums(words: npt.NDArray[np.uint32], layout: Layout, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Sum of the codes of each column."""
    sums: npt.NDArray[np.int64] = unpack(words, layout, shape).sum(axis=0, dtype=np.int64)
    return sums


def row_sums(words: npt.NDArray[np.uint32], layout: Layout, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Sum of the codes of each row."""
    sums: npt.NDArray[np.int64] = unpack(words, layout, shape).sum(axis=1, dtype=np.int64)
    return sums


def widen(halves: npt.NDArray[np.float16], out: npt.NDArray[np.float32]) -> None:
    """float16 to float32, exactly, into ``out`` of the same shape."""
    out[...] = halves


# --------------------------------------------------------------------------- products with few columns


class NotFiniteError(ValueError):
    """A right-hand side holds NaN or infinity."""


class Digits(NamedTuple):
    """A right-hand side as integers: ``values ~ integers * scale``, integers in base 256."""

    integers: npt.NDArray[np.int64]
    scale: npt.NDArray[np.float64]
    n_digits: int

    def digit(self, d: int) -> npt.NDArray[np.int64]:
        """Signed digit ``d`` (0 is the lowest), each in -128..127."""
        rest = self.integers
        for _ in range(d):
            rest = (rest + 128) >> 8
        return ((rest + 128) & 255) - 128 if d < self.n_digits - 1 else rest


def quantise(values: Array, precision: Precision = "fast") -> Digits:
    """Turn the columns of a finite (m, k) array into integers of 2 to 4 signed base-256 digits.

    A column with largest magnitude ``a`` is put on the grid ``a / (127 * 256^(D-1))``. Rounding then
    loses ``scale * sqrt(nonzeros / 12)`` in root mean square; D is the least number of digits for
    which no column loses more than the tolerance relative to its norm. The norm is taken from the
    two-digit integers, an exact sum, so that every implementation decides alike.
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise NotFiniteError("values must be finite")
    m, k = values.shape
    largest = np.abs(values).max(axis=0, initial=0.0)
    # Below this, 1 / scale would overflow: lift by an exact power of two first, and lower the scale after.
    lift = np.where(largest < 1e-280, 2.0**600, 1.0)
    values = values * lift
    largest = largest * lift
    safe = np.where(largest == 0.0, 1.0, largest)

    def integers(n_digits: int) -> Array:
        limit = 127.0 * 256.0 ** (n_digits - 1)
        return np.rint(values * (limit / safe)).astype(np.int64)

    two = integers(2)
    norm2 = (two * two).sum(axis=0).astype(np.float64)
    nonzeros = np.count_nonzero(values, axis=0)
    tolerance2 = TOLERANCES[precision] * TOLERANCES[precision]
    n_digits = LEAST_DIGITS[precision]
    while n_digits < MOST_DIGITS and np.any(
        nonzeros.astype(np.float64) > 12.0 * tolerance2 * norm2 * 65536.0 ** (n_digits - 2)
    ):
        n_digits += 1
    scale = largest / (127.0 * 256.0 ** (n_digits - 1)) / lift
    return Digits(two if n_digits == 2 else integers(n_digits), scale, n_digits)


def _planes(codes: Array, table: Array | None) -> list[npt.NDArray[np.int64]]:
    """Integer matrices of which the decoded matrix is a linear combination."""
    codes = codes.astype(np.int64)
    if table is None:
        return [codes]
    low, high = codes & 1, codes >> 1
    return [low, high, low & high]


def _combine(planes: list[Array], digits: Digits, zero2: int, table: Array | None) -> npt.NDArray[np.float64]:
    """Sum the digits in double, lowest last, and apply the zero point or the table of levels."""

    def assemble(parts: list[Array]) -> npt.NDArray[np.float64]:
        total = parts[-1].astype(np.float64)
        for part in parts[-2::-1]:
            total = total * 256.0 + part.astype(np.float64)
        return total

    ds = [digits.digit(d) for d in range(digits.n_digits)]
    if table is None:
        return assemble([2 * (planes[0] @ d) - zero2 * d.sum(axis=0) for d in ds]) * (digits.scale * 0.5)
    low, high, both = (assemble([plane @ d for d in ds]) for plane in planes)
    total = assemble([d.sum(axis=0) for d in ds])
    t0, t1, t2, t3 = (float(t) for t in table)
    return (((t0 * total + (t1 - t0) * low) + (t2 - t0) * high) + ((t3 - t2) - (t1 - t0)) * both) * digits.scale


def matmul(
    words: npt.NDArray[np.uint32],
    layout: Layout,
    shape: tuple[int, int],
    values: Array,
    *,
    zero2: int = 0,
    table: Array | None = None,
    precision: Precision = "fast",
) -> npt.NDArray[np.float64]:
    """``(Q - zero2 / 2) @ values`` for finite ``values`` (m, k), or ``table[Q] @ values`` (layout u2)."""
    return _combine(_planes(unpack(words, layout, shape), table), quantise(values, precision), zero2, table)


def rmatmul(
    words: npt.NDArray[np.uint32],
    layout: Layout,
    shape: tuple[int, int],
    values: Array,
    *,
    zero2: int = 0,
    table: Array | None = None,
    precision: Precision = "fast",
) -> npt.NDArray[np.float64]:
    """``(Q - zero2 / 2).T @ values`` for finite ``values`` (n, k), or ``table[Q].T @ values`` (layout u2)."""
    planes = [plane.T for plane in _planes(unpack(words, layout, shape), table)]
    return _combine(planes, quantise(values, precision), zero2, table)


# --------------------------------------------------------------------------- products of codes with codes


def gram(
    words: npt.NDArray[np.uint32],
    layout: Layout,
    shape: tuple[int, int],
    other: npt.NDArray[np.uint32] | None = None,
    other_shape: tuple[int, int] | None = None,
    *,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """``C.T @ D`` with ``C = Q - zero2 / 2``, D likewise of ``other`` (default: C itself).

    The sums are exact integers; only their conversion to ``dtype`` (float32 or float64) rounds.
    """
    left = 2 * unpack(words, layout, shape).astype(np.int64) - zero2
    right = left
    if other is not None and other_shape is not None:
        right = 2 * unpack(other, layout, other_shape).astype(np.int64) - zero2
    return ((left.T @ right).astype(np.float64) * 0.25).astype(dtype)


def kernel(
    words: npt.NDArray[np.uint32],
    layout: Layout,
    shape: tuple[int, int],
    other: npt.NDArray[np.uint32] | None = None,
    other_shape: tuple[int, int] | None = None,
    *,
    zero2: int = 0,
    dtype: npt.DTypeLike = np.float64,
) -> Array:
    """``C @ D.T`` with ``C = Q - zero2 / 2``, D likewise of ``other`` (default: C itself); exact as `gram`."""
    left = 2 * unpack(words, layout, shape).astype(np.int64) - zero2
    right = left
    if other is not None and other_shape is not None:
        right = 2 * unpack(other, layout, other_shape).astype(np.int64) - zero2
    return ((left @ right.T).astype(np.float64) * 0.25).astype(dtype)
