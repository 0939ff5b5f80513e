r"""``Z^T W Z`` and ``Z Z'^T``.

Packed codes are written as a constant and a few matrices of centred integers,

    Z = 1 alpha^T + sum_p C_p F_p,      C_p = Q_p - zero2_p / 2,   F_p = diag(f_p)

one C for a linear decoder; for a four-level table with bits q = b0 + 2 b1 the planes b0, b1 and
b0 xor b1 (the last vanishes for tables symmetric about their mean). With the exact integer sums
G_pq = C_p^T C_q and c_p = C_p^T 1, w = sum_p F_p c_p,

    Z^T Z = sum_pq F_p G_pq F_q + w alpha^T + alpha w^T + n alpha alpha^T

and likewise for Z Z'^T where f and alpha do not depend on the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram import ops

from .blocks import CHUNK, centred, decoded_rows, row_ranges

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class Plane(NamedTuple):
    """One ``C F``: integer codes centred at ``zero2 / 2`` and their factor, a number or one a column."""

    words: npt.NDArray[np.uint32]
    layout: str
    zero2: int
    factor: Float64

    def column_sums(self, shape: tuple[int, int]) -> Float64:
        """``f * (1^T C)``."""
        sums = ops.column_sums(self.words, self.layout, shape)
        return self.factor * (sums - 0.5 * self.zero2 * shape[0])

    def row_sums(self, shape: tuple[int, int]) -> Float64:
        """``f * (C 1)`` for a single factor."""
        sums = ops.row_sums(self.words, self.layout, shape)
        return self.factor * (sums - 0.5 * self.zero2 * shape[1])


def expand(Z: CodeMatrix) -> tuple[Float64, list[Plane]]:
    """``alpha`` (a number or one a column) and the planes of a packed matrix."""
    code = Z.code
    layout = code.layout
    assert layout is not None, "floats have no planes"
    if code.table is None:
        zero2, factor, alpha = centred(code)
        return alpha, [Plane(Z.storage, layout, zero2, factor)]
    t0, t1, t2, t3 = (float(t) for t in code.table)
    low, high, _ = ops.split_planes(Z.storage, Z.shape)
    planes = [
        Plane(words, "u1", 1, np.asarray(0.5 * factor))
        for words, factor in (
            (low, (t1 - t0) + (t3 - t2)),
            (high, (t2 - t0) + (t3 - t1)),
            (low ^ high, (t1 + t2) - (t0 + t3)),
        )
        if factor != 0.0
    ]
    return np.asarray(0.25 * ((t0 + t3) + (t1 + t2))), planes


def result_dtype(dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """float64 unless float32 is asked for."""
    result = np.dtype(np.float64 if dtype is None else dtype)
    if result not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype!r} is not offered; choose float32 or float64")
    return result


def _count_dtype(plane: Plane, length: int) -> type[np.float32 | np.float64]:
    """float32 where every sum of ``length`` products is exact in it (a multiple of 1/4 below 2^22)."""
    n_codes = ops.get_layout(plane.layout).n_codes
    largest = max(plane.zero2, 2 * (n_codes - 1) - plane.zero2) ** 2 * length
    return np.float32 if largest <= 2**24 else np.float64


def _panels(shape: tuple[int, int]) -> Iterator[slice]:
    """Slices of rows that stay in the cache."""
    step = max(1, 2**16 // max(shape[1], 1))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


# --------------------------------------------------------------------------- from integers


class _Side(NamedTuple):
    """One side of an integer product, as vectors over the rows or columns of the result."""

    planes: list[Plane]
    alpha: Float64
    #: ``w + length alpha / 2``: with it the terms of alpha are ``u alpha^T + alpha u^T``.
    u: Float64 | None


def gram(Z: CodeMatrix, weights: Any = None, dtype: npt.DTypeLike | None = None) -> Array:
    """``Z^T diag(weights) Z``."""
    final = result_dtype(dtype)
    if weights is not None or Z.code.layout is None:
        checked = None if weights is None else _checked_weights(weights, Z.shape[0])
        return _float_gram(Z, checked).astype(final, copy=False)
    alpha, planes = expand(Z)
    u = None
    if alpha.any():
        u = sum((plane.column_sums(Z.shape) for plane in planes), start=np.zeros(Z.shape[1])) + 0.5 * Z.shape[0] * alpha
    side = _Side(planes, alpha, u)

    def multiply(left: Plane, right: Plane, count: npt.DTypeLike) -> Array:
        other = (None, None) if right is left else (right.words, Z.shape)
        return ops.gram(left.words, left.layout, Z.shape, *other, zero2=left.zero2, dtype=count)

    return _assemble(multiply, side, side, Z.shape[0], final)


def kernel(Z: CodeMatrix, other: CodeMatrix | None = None, dtype: npt.DTypeLike | None = None) -> Array:
    """``Z Z'^T``."""
    final = result_dtype(dtype)
    other = Z if other is None else other
    if other.shape[1] != Z.shape[1]:
        raise ValueError(f"other has {other.shape[1]} columns; expected {Z.shape[1]}")
    if other is not Z and not Z.code.compatible(other.code):
        raise ValueError(f"other holds codes of {other.code!r}, which do not mean the same under {Z.code!r}")
    if Z.code.layout is None or np.ndim(Z.code.scale) or np.ndim(Z.code.offset):
        return _float_kernel(Z, other, final)

    def side(Y: CodeMatrix) -> _Side:
        alpha, planes = expand(Y)
        u = None
        if alpha.any():
            u = (
                sum((plane.row_sums(Y.shape) for plane in planes), start=np.zeros(Y.shape[0]))
                + 0.5 * Y.shape[1] * alpha
            )
        return _Side(planes, alpha, u)

    def multiply(left: Plane, right: Plane, count: npt.DTypeLike) -> Array:
        pair = (None, None) if right is left else (right.words, other.shape)
        return ops.kernel(left.words, left.layout, Z.shape, *pair, zero2=left.zero2, dtype=count)

    left = side(Z)
    return _assemble(multiply, left, left if other is Z else side(other), Z.shape[1], final)


def _assemble(
    multiply: Callable[[Plane, Plane, npt.DTypeLike], Array],
    left: _Side,
    right: _Side,
    length: int,
    final: np.dtype[Any],
) -> Array:
    """The formula at the top of this file; symmetric to the bit if the sides are one.

    After the integers come one to three passes in double over panels that fit the cache, and one rounding.
    """

    def counted(p: Plane, q: Plane) -> Array:
        return multiply(p, q, final if _count_dtype(p, length) is np.float32 else np.float64)

    if len(left.planes) == 1:
        sums = counted(left.planes[0], right.planes[0])
        factors = (left.planes[0].factor, right.planes[0].factor)
    else:
        sums, factors = _table_sums(counted, left, right), (np.ones(()), np.ones(()))
    unscaled = factors[0].ndim == 0 and factors[0] * factors[1] == 1.0
    if unscaled and left.u is None and sums.dtype == final:
        return sums
    out = sums if sums.dtype == final else np.empty(sums.shape, dtype=final)
    for a in _panels(sums.shape):
        panel = sums[a] * _outer(factors[0], factors[1], a)
        if left.u is not None and right.u is not None:
            panel += _outer(left.u, right.alpha, a) + _outer(left.alpha, right.u, a)
        out[a] = panel
    return out


def _outer(left: Float64, right: Float64, a: slice) -> Any:
    """Rows ``a`` of the outer product of vectors, either of which may be a single number."""
    return (left[a, None] if left.ndim else left) * right


def _table_sums(counted: Callable[[Plane, Plane], Array], left: _Side, right: _Side) -> Float64:
    """``sum_pq f_p f_q G_pq`` for the planes of a table."""
    total: Float64 | None = None
    for i, p in enumerate(left.planes):
        for j, q in enumerate(right.planes):
            if left is right and j < i:
                continue
            part, factor = counted(p, q), float(p.factor * q.factor)
            total = np.zeros(part.shape) if total is None else total
            for a in _panels(part.shape):
                panel = part[a].astype(np.float64)  # the sum with its mirror need not be exact in float32
                if left is right and i != j:
                    panel += part[:, a].T
                total[a] += factor * panel
    assert total is not None, "a table of distinct levels has planes"
    return total


# --------------------------------------------------------------------------- from floats


def _checked_weights(weights: Any, n_rows: int) -> Float64:
    array = np.asarray(weights)
    if array.dtype.kind not in "buif":
        raise TypeError(f"weights has dtype {array.dtype}; real numbers are accepted")
    if array.shape != (n_rows,):
        raise ValueError(f"weights has shape {array.shape}; expected ({n_rows},), one a row")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"weights[{bad}] is {array[bad]}; finite numbers are accepted")
    return array


def _float_gram(Z: CodeMatrix, weights: Float64 | None) -> Float64:
    """Blocks of rows decoded to float32 and multiplied with themselves by BLAS, summed in double.

    Rows with weight w enter as sqrt(|w|) z, positive and negative ones apart: each block's product is then
    of the form A^T A, which BLAS computes in half the time and symmetric to the bit.
    """
    n, m = Z.shape
    out = np.zeros((m, m))
    if weights is None:
        for start, stop in row_ranges(n, m, least=min(m // 4, CHUNK)):
            block = decoded_rows(Z, start, stop)
            out += block.T @ block
        return out
    largest = float(np.abs(weights).max(initial=0.0))
    if largest == 0.0:
        return out
    roots = np.sqrt(np.abs(weights) / largest).astype(np.float32)
    for start, stop in row_ranges(n, m, least=min(m // 4, CHUNK)):
        block, w, root = decoded_rows(Z, start, stop), weights[start:stop], roots[start:stop]
        for rows, add in ((w > 0, np.add), (w < 0, np.subtract)):
            if rows.any():
                part = block[rows] * root[rows, None]
                add(out, part.T @ part, out=out)
    out *= largest
    return out


def _float_kernel(Z: CodeMatrix, other: CodeMatrix, final: np.dtype[Any]) -> Array:
    """Square tiles of the result from blocks of decoded rows, summed in double over chunks of columns."""
    out = np.empty((Z.shape[0], other.shape[0]), dtype=final)
    for start, stop in row_ranges(*Z.shape, least=512):
        left = decoded_rows(Z, start, stop)
        for first, last in row_ranges(*other.shape, least=512):
            if other is Z and last <= start:
                continue
            right = left if other is Z and first == start else decoded_rows(other, first, last)
            tile = np.zeros((stop - start, last - first))
            for c in range(0, Z.shape[1], CHUNK):
                tile += left[:, c : c + CHUNK] @ right[:, c : c + CHUNK].T
            out[start:stop, first:last] = tile
            if other is Z and first != start:
                out[first:last, start:stop] = tile.T
    return out
