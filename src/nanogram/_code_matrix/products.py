"""``Z @ V`` and ``Z.T @ R``.

With the decoder ``Z = S C + 1 o^T`` (centred integer codes C, scales S = diag(s), offsets o)

    Z V     = C (s V) + 1 (o^T V)
    Z^T R   = s (C^T R) + o (1^T R)

so the bulk is a product of integers, done by `nanogram.ops`, and the rest is of the size of V and the
result. A four-level table goes to the ops as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nanogram import ops
from nanogram.ops._isa import active_isa
from nanogram.ops.reference import TOLERANCES, Precision

from .blocks import CHUNK, centred, codes_of_rows, decoded_index, row_ranges

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


def checked_precision(precision: Any) -> Precision:
    """The precision, or a ValueError that lists what there is."""
    if not isinstance(precision, str) or precision not in TOLERANCES:
        raise ValueError(f"precision={precision!r} is unknown; choose one of {', '.join(map(repr, TOLERANCES))}")
    return precision  # type: ignore[return-value]  # a key of TOLERANCES is a Precision


#: A product of some thousand rows takes less than the interpreter's detours on the way to it, so plain cases are short.
_PLAIN = (np.dtype(np.float32), np.dtype(np.float64))


def right_hand_side(values: Any, length: int) -> Array:
    """A real array of shape (length,) or (length, k) as float32 or float64, whichever NumPy would compute in."""
    if type(values) is np.ndarray and values.dtype in _PLAIN and 1 <= values.ndim <= 2 and len(values) == length:
        return values
    if sparse.issparse(values):
        raise TypeError("a sparse right-hand side is not multiplied; pass values.toarray()")
    array = np.asarray(values)
    if array.dtype.kind not in "buif" or array.dtype.itemsize > 8:
        raise TypeError(f"the right-hand side has dtype {array.dtype}; bool, integers and float16/32/64 are multiplied")
    if array.ndim not in (1, 2) or array.shape[0] != length:
        raise ValueError(f"the right-hand side has shape {array.shape}; expected ({length},) or ({length}, k)")
    return array.astype(np.result_type(np.float32, array.dtype), copy=False)


def product(Z: CodeMatrix, values: Any, *, transpose: bool, precision: Any = None) -> Array:
    """``Z @ values``, or ``Z.T @ values``, in the dtype NumPy gives such a product of a float32 matrix."""
    precision = Z._precision if precision is None else checked_precision(precision)
    # The short way: all but the right-hand side is prepared once.
    isa = active_isa()
    if isa is not None and type(values) is np.ndarray:
        multiplier = Z._multiplier
        if multiplier is None:
            multiplier = Z._multiplier = _multiplier(Z)
        if multiplier is not False:
            product: Array | None = multiplier(values, transpose, precision, isa)
            if product is not None:
                return product
    given = right_hand_side(values, Z.shape[0] if transpose else Z.shape[1])
    V = given if given.ndim == 2 else given[:, None]
    if Z.code.layout is None:
        result = _float_product(Z, V, transpose, precision)
    else:
        result = _code_product(Z, V, transpose, precision)
    with np.errstate(over="ignore"):
        rounded = result.astype(given.dtype, copy=False)
    return rounded if given.ndim == 2 else rounded[:, 0]


# --------------------------------------------------------------------------- packed codes


class Decoder(NamedTuple):
    """What products need of a matrix's code, derived once: layout and table, or `blocks.centred` and what it spares."""

    layout: str
    table: Float64 | None
    zero2: int
    scale: Float64
    offset: Float64
    by_column: bool
    scaled: bool
    shifted: bool


def _decoder(Z: CodeMatrix) -> Decoder:
    known: Decoder | None = Z._decoder
    if known is None:
        layout, table = Z.code.layout, Z.code.table
        assert layout is not None, "floats are multiplied elsewhere"
        zero2, scale, offset = (0, np.ones(()), np.zeros(())) if table is not None else centred(Z.code)
        by_column = scale.ndim > 0
        known = Decoder(layout, table, zero2, scale, offset, by_column, by_column or scale != 1.0, bool(offset.any()))
        Z._decoder = known
    return known


def _multiplier(Z: CodeMatrix) -> Any:
    """`ops.multiplier` of a matrix whose product with codes needs at most one factor beside; else False."""
    if Z.storage.dtype != np.uint32 or Z.size == 0:
        return False
    decoder = _decoder(Z)
    if decoder.by_column or decoder.shifted:
        return False
    zero2, table, factor = decoder.zero2, decoder.table, float(decoder.scale)
    return ops.multiplier(Z.storage, decoder.layout, Z.shape, zero2=zero2, table=table, factor=factor) or False


def _code_product(Z: CodeMatrix, V: Array, transpose: bool, precision: Precision) -> Float64:
    finite_product = _finite_rproduct if transpose else _finite_product
    if transpose or not _decoder(Z).by_column:
        # Whether all is finite the op sees by itself.
        try:
            return finite_product(Z, V, precision)
        except ops.NotFiniteError:
            pass
    odd = np.flatnonzero(~np.isfinite(V).all(axis=1))
    finite = V
    if odd.size:
        finite = V.copy()
        finite[odd] = 0
    result = finite_product(Z, finite, precision)
    if odd.size:
        with np.errstate(invalid="ignore", over="ignore"):
            result += _odd_rproduct(Z, odd, V[odd]) if transpose else _odd_product(Z, odd, V[odd])
    return result


def _finite_product(Z: CodeMatrix, V: Array, precision: Precision) -> Float64:
    decoder = _decoder(Z)
    if decoder.table is not None:
        return ops.matmul(Z.storage, decoder.layout, Z.shape, V, table=decoder.table, precision=precision)
    scale, offset = decoder.scale, decoder.offset
    weighted = V * scale[:, None] if decoder.by_column else V
    result = ops.matmul(Z.storage, decoder.layout, Z.shape, weighted, zero2=decoder.zero2, precision=precision)
    if decoder.scaled and not decoder.by_column:
        result *= scale
    if decoder.shifted:
        result += (V * (offset if offset.ndim == 0 else offset[:, None])).sum(axis=0, dtype=np.float64)
    return result


def _finite_rproduct(Z: CodeMatrix, R: Array, precision: Precision) -> Float64:
    decoder = _decoder(Z)
    if decoder.table is not None:
        return ops.rmatmul(Z.storage, decoder.layout, Z.shape, R, table=decoder.table, precision=precision)
    scale, offset = decoder.scale, decoder.offset
    result = ops.rmatmul(Z.storage, decoder.layout, Z.shape, R, zero2=decoder.zero2, precision=precision)
    if decoder.scaled:
        result *= scale[:, None] if decoder.by_column else scale
    if decoder.shifted:
        result += (offset if offset.ndim == 0 else offset[:, None]) * R.sum(axis=0, dtype=np.float64)
    return result


def _odd_product(Z: CodeMatrix, columns: npt.NDArray[np.int64], V: Array) -> Float64:
    """``Z[:, columns] @ V`` in floats: what NaN and infinity of V, and the finite values beside them, add."""
    V = V.astype(np.float64)
    result = np.empty((Z.shape[0], V.shape[1]))
    for start, stop in row_ranges(*Z.shape):
        codes = codes_of_rows(Z, start, stop)[:, columns]
        result[start:stop] = Z.code.decode(codes, columns=columns).astype(np.float64) @ V
    return result


def _odd_rproduct(Z: CodeMatrix, rows: npt.NDArray[np.int64], R: Array) -> Float64:
    """``Z[rows].T @ R`` in floats."""
    R = R.astype(np.float64)
    result = np.zeros((Z.shape[1], R.shape[1]))
    for start, stop in row_ranges(rows.size, Z.shape[1]):
        result += decoded_index(Z, rows[start:stop]).T.astype(np.float64) @ R[start:stop]
    return result


# --------------------------------------------------------------------------- floats


def _float_product(Z: CodeMatrix, V: Array, transpose: bool, precision: Precision) -> Array:
    """BLAS on blocks of rows; the blocks of ``Z.T @ R`` are summed in double.

    A float64 right-hand side is multiplied in double if ``precision`` asks for more than "fast", else in
    single, its columns scaled by powers of two so that nothing overflows on the way.
    """
    work, exponent = V, None
    if V.dtype == np.float64 and precision == "fast" and np.isfinite(V).all():
        exponent = np.frexp(np.abs(V).max(axis=0, initial=0.0))[1]
        work = np.ldexp(V, -exponent).astype(np.float32)
    storage, single = Z.storage, work.dtype == np.float32
    # Blocks that need no conversion are as tall as a sum in single may be; others stay in the cache.
    least = CHUNK if single and storage.dtype == np.float32 else 0
    wide = np.empty((0, Z.shape[1]), dtype=np.float32)
    result = np.zeros((Z.shape[1], V.shape[1])) if transpose else np.empty((Z.shape[0], V.shape[1]), dtype=V.dtype)
    part = np.zeros(result.shape, dtype=work.dtype) if transpose else None
    summed = 0
    # NumPy warns of NaN and infinity in its own products only now and then; here never.
    with np.errstate(invalid="ignore", over="ignore"):
        for start, stop in row_ranges(*Z.shape, least):
            block = storage[start:stop]
            if single and block.dtype == np.float16:
                if len(wide) < stop - start:
                    wide = np.empty(block.shape, dtype=np.float32)
                block = ops.widen(block, wide[: stop - start])
            else:
                block = block.astype(work.dtype, copy=False)
            if part is None:
                result[start:stop] = block @ work
                continue
            part += block.T @ work[start:stop]
            summed += stop - start
            if summed + (stop - start) > CHUNK or stop == Z.shape[0]:
                result += part
                part[:] = 0
                summed = 0
        return result if exponent is None else np.ldexp(result, exponent)
