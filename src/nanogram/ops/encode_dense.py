"""Codes of integer rows times unstructured integer weights, in one pass: no float feature is ever stored.

`encode_dense_reference` is the specification; the compiled core (``core/encode_dense``) has a path for few weights that
are not zero, one for signs and trits, and two integer products. All give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import encode_dense_layouts as layouts
from . import encode_dense_reference, reference
from ._isa import _core, active_isa
from .encode_reference import rounding_words
from .layouts import ROWS_PER_TILE, Layout, get_layout, words_shape

if TYPE_CHECKING:
    from nanogram.projections import Stream

__all__ = ["CosineCodes", "IntegerWeights", "PeriodicCodes", "StepCodes", "encode_dense"]

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]

PATHS: Final = ("sparse", "table", "gemm8", "gemm16")
# Below this share of weights that are not zero, lists of them are faster than tables of four trits.
_SPARSE_SHARE: Final = 0.3
# Rows that the reference, or hashing, takes as an array at a time.
_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class StepCodes:
    """``codes[sum_i (acc > thresholds[i, j])]``.

    Parameters
    ----------
    thresholds : ndarray of int32, shape (steps, m)
        Ascending along the first axis.
    codes : ndarray of integers, shape (steps + 1,)
        The code of each interval.
    """

    thresholds: npt.NDArray[np.int32]
    codes: Array


@dataclass(frozen=True)
class CosineCodes:
    """The cosine of the phase ``acc * multiplier + bias[j]`` (a turn is ``2**32``), rounded to ``bits`` bits.

    Parameters
    ----------
    multiplier : int
        Taken modulo ``2**32``.
    bias : ndarray of uint32, shape (m,)
    bits : int
        1 to 16; codes run from 0 to ``2**bits - 1``.
    pair : bool, default=False
        Columns 2 j and 2 j + 1 are the cosine and the sine of phase j.
    stream : Stream, optional
        Round at random with the words of this stream, addressed by the row's key and the column; else to nearest.
    """

    multiplier: int
    bias: npt.NDArray[np.uint32]
    bits: int
    pair: bool = False
    stream: Stream | None = None


@dataclass(frozen=True)
class PeriodicCodes:
    """``codes[sum_i (c > thresholds[i])]`` of the cosine ``c = cos_u16(...)``, 0 to 65535; see `CosineCodes`."""

    multiplier: int
    bias: npt.NDArray[np.uint32]
    thresholds: npt.NDArray[np.int32]
    codes: Array
    pair: bool = False


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """Integer weights, laid out for the path that computes with them.

    Parameters
    ----------
    weights : ndarray of int8 or int16, shape (m, p)
        A weight vector a row.
    bits : int, default=12
        2 to 15. Rows hold integers of at most ``2**(bits - 1) - 1`` in magnitude. The accumulators must fit 32 bits.
    path : {"auto", "sparse", "table", "gemm8", "gemm16"}, default="auto"
        ``"sparse"`` adds what weights -1, 0, +1 choose; ``"table"`` looks up sums of four such weights or, when none
        is 0, of six (rows of at most 14 bits); ``"gemm8"`` multiplies rows of 8 bits by int8 weights, ``"gemm16"``
        anything. Codes are the same on every path.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.ops.encode_dense import IntegerWeights, StepCodes, encode_dense
    >>> from nanogram import ops
    >>> weights = IntegerWeights(np.array([[1, -1, 0], [1, 1, 1]], dtype=np.int8))
    >>> rows = np.array([[5, 3, 0], [-4, 1, 2]], dtype=np.int16)
    >>> step = StepCodes(np.zeros((1, 2), dtype=np.int32), np.array([0, 1]))
    >>> ops.unpack(encode_dense(rows, weights, step, "u1"), "u1", (2, 2))
    array([[1, 1],
           [0, 0]], dtype=uint8)
    """

    weights: Array
    bits: int = 12
    path: str = "auto"
    _made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what could overflow or does not fit the path."""
        w = self.weights
        if w.ndim != 2 or w.dtype not in (np.int8, np.int16) or w.shape[1] < 1:
            raise ValueError(
                f"weights has shape {w.shape} and dtype {w.dtype}; int8 or int16 of shape (m, p >= 1) are accepted"
            )
        if not 2 <= self.bits <= 15:
            raise ValueError(f"bits={self.bits!r} must be from 2 to 15")
        if self.path not in ("auto", *PATHS):
            raise ValueError(f"path={self.path!r} is unknown; choose one of auto, {', '.join(PATHS)}")
        if self.largest_sum * self.most >= 2**31:
            raise ValueError(
                f"weights of magnitudes that sum to {self.largest_sum} and rows of bits={self.bits} overflow 32 bits; "
                "use fewer bits or smaller weights"
            )
        if not self._fits(self.path):
            raise ValueError(f"path={self.path!r} does not take these weights with rows of bits={self.bits}")

    @property
    def most(self) -> int:
        """Largest magnitude of a row's entry."""
        return (1 << (self.bits - 1)) - 1

    @cached_property
    def largest_sum(self) -> int:
        """Largest sum of a weight vector's magnitudes."""
        return max((int(np.abs(row.astype(np.int64)).sum()) for row in self.weights), default=0)

    @cached_property
    def _ternary(self) -> bool:
        return self.weights.size == 0 or (int(self.weights.min()) >= -1 and int(self.weights.max()) <= 1)

    @cached_property
    def _share(self) -> float:
        return np.count_nonzero(self.weights) / max(1, self.weights.size)

    def _fits(self, path: str) -> bool:
        if path == "gemm8":
            return self.bits <= 8 and self.weights.dtype == np.int8
        if path == "sparse":
            return self._ternary
        if path == "table":
            return self._ternary and self.bits <= 13
        return True

    def chosen_path(self, isa: int) -> str:
        """The path taken on an instruction set."""
        if self.path != "auto":
            return self.path
        if self._ternary and (self._share < _SPARSE_SHARE or not self._fits("table")):
            return "sparse" if self._share < _SPARSE_SHARE else "gemm16"
        if self._ternary:
            return "table"
        # Only the widest level has dot products of bytes that do not saturate.
        return "gemm8" if isa == 2 and self._fits("gemm8") else "gemm16"

    def prepared(self, isa: int) -> Any:
        """The core's view of the weights, made once a path."""
        path = self.chosen_path(isa)
        if path not in self._made:
            self._made[path] = self._make(path)
        return self._made[path]

    def _make(self, path: str) -> Any:
        w, (m, p) = self.weights, self.weights.shape
        arrays: dict[str, Array] = {}
        base = 3
        if path == "sparse":
            arrays["entries"], arrays["starts"], arrays["order"] = layouts.sparse_lists(w)
        elif path == "table":
            base = 2 if self._share == 1.0 else 3
            arrays["groups"] = layouts.table_groups(w, base)
        elif path == "gemm8":
            arrays["tiles8"], arrays["sums"] = layouts.gemm_tiles(w, 4, np.int8)
        else:
            arrays["tiles16"], _ = layouts.gemm_tiles(w, 2, np.int16)
        return _core.DenseWeights(PATHS.index(path), self.most, base, layouts.TABLE_DIGITS[base], m, p, **arrays)

    def __getstate__(self) -> dict[str, Any]:
        """Without the core's views, which are made again where they are needed."""
        return {"weights": self.weights, "bits": self.bits, "path": self.path, "_made": {}}


Codes = StepCodes | CosineCodes | PeriodicCodes


def encode_dense(
    rows: Any,
    weights: IntegerWeights,
    codes: Codes,
    layout: str | Layout,
    *,
    words: Words | None = None,
    first_row: int = 0,
    row_keys: npt.NDArray[np.uint64] | None = None,
) -> Words:
    """Words of the codes of ``rows @ weights.T``.

    Parameters
    ----------
    rows : ndarray of int16 or csr of int16, shape (n, p)
        Magnitudes up to ``weights.most``. Compressed rows are spread out 16 to 128 at a time, never all.
    weights : IntegerWeights
    codes : StepCodes, CosineCodes or PeriodicCodes
    layout : str or Layout
        Must hold the codes.
    words : ndarray of uint32, optional
        Where to write: the words of all rows, zero (or to be replaced) where these go. New ones by default.
    first_row : int, default=0
        The row of ``words`` at which ``rows`` start; rows before and after keep their codes.
    row_keys : ndarray of uint64, shape (n,), optional
        Keys for random rounding; by default `nanogram.projections.row_keys` of the rows.

    Returns
    -------
    ndarray of uint32
        ``words``, shape ``words_shape(layout, ..., m)`` (2 m columns for pairs).
    """
    layout = get_layout(layout)
    m, p = weights.weights.shape
    rows = _checked_rows(rows, p, weights.most)
    n = rows.shape[0]
    _check_codes(codes, layout, m)
    pair = not isinstance(codes, StepCodes) and codes.pair
    shape = words_shape(layout, first_row + n, m << pair)
    if words is None:
        words = np.zeros(shape, dtype=np.uint32)
    elif words.dtype != np.uint32 or words.shape[0] < shape[0] or words.shape[1:] != shape[1:] or first_row < 0:
        raise ValueError(
            f"words has dtype {words.dtype} and shape {words.shape}; {n} rows from first_row={first_row} on need "
            f"uint32 of shape ({shape[0]} or more, {shape[1]}, {shape[2]})"
        )
    if n == 0:
        return words
    if isinstance(codes, CosineCodes) and codes.stream is not None and row_keys is None:
        row_keys = _keys(rows)
    isa = active_isa()
    if isa is None:
        _insert(words, layout, _reference_codes(rows, weights.weights, codes, row_keys), first_row)
        return words
    epilogue = _epilogue(codes, row_keys)
    plain, compressed = (None, (rows.indptr, rows.indices, rows.data)) if sp.issparse(rows) else (rows, None)
    _core.encode_dense(plain, compressed, weights.prepared(isa), epilogue, words, layout.index, first_row, isa)
    return words


def _checked_rows(rows: Any, p: int, most: int) -> Any:
    if not isinstance(rows, np.ndarray) and not (sp.issparse(rows) and rows.format == "csr"):
        raise TypeError(f"rows must be an int16 array or csr, not {type(rows).__name__}")
    if rows.ndim != 2 or rows.shape[1] != p or rows.dtype != np.int16:
        raise ValueError(f"rows has shape {rows.shape} and dtype {rows.dtype}; int16 of shape (n, {p}) is accepted")
    values = rows.data if sp.issparse(rows) else rows
    if values.size and (int(values.max()) > most or int(values.min()) < -most):
        raise ValueError(f"rows holds {values.min()} to {values.max()}; at most {most} in magnitude is accepted")
    if not sp.issparse(rows):
        return np.ascontiguousarray(rows)
    if not rows.has_canonical_format:
        # Columns stored twice count once, as their sum.
        rows = rows.copy()
        rows.sum_duplicates()
        return _checked_rows(rows, p, most)
    index = rows.indptr.astype(np.int64, copy=False), rows.indices.astype(np.int32, copy=False)
    return sp.csr_array((rows.data, index[1], index[0]), shape=rows.shape)


def _check_codes(codes: Codes, layout: Layout, m: int) -> None:
    if isinstance(codes, CosineCodes):
        if not 1 <= codes.bits <= 16:
            raise ValueError(f"bits={codes.bits!r} of the cosine codes must be from 1 to 16")
        largest = (1 << codes.bits) - 1
    else:
        steps, columns = codes.thresholds.shape
        if codes.thresholds.dtype != np.int32 or columns != (m if isinstance(codes, StepCodes) else 1):
            raise ValueError(
                f"thresholds has dtype {codes.thresholds.dtype} and shape {codes.thresholds.shape}; int32 of shape "
                f"(steps, {m if isinstance(codes, StepCodes) else 1}) is accepted"
            )
        if np.shape(codes.codes) != (steps + 1,) or int(np.min(codes.codes)) < 0:
            raise ValueError(f"codes={codes.codes!r} must be {steps + 1} numbers from 0 on, one more than thresholds")
        largest = int(np.max(codes.codes))
    if largest >= layout.n_codes:
        raise ValueError(f"codes go up to {largest}; layout {layout.name!r} holds 0 to {layout.n_codes - 1}")
    if not isinstance(codes, StepCodes) and (codes.bias.shape != (m,) or codes.bias.dtype != np.uint32):
        raise ValueError(
            f"bias has dtype {codes.bias.dtype} and shape {codes.bias.shape}; uint32 of shape ({m},) is accepted"
        )


def _keys(rows: Any) -> npt.NDArray[np.uint64]:
    from nanogram.projections import row_keys

    if isinstance(rows, np.ndarray):
        return row_keys(rows)
    keys = np.empty(rows.shape[0], dtype=np.uint64)
    step = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(keys), step):
        keys[start : start + step] = row_keys(rows[start : start + step].toarray())
    return keys


def _epilogue(codes: Codes, row_keys: npt.NDArray[np.uint64] | None) -> Any:
    if isinstance(codes, CosineCodes):
        key = None if codes.stream is None else codes.stream.key
        factor = codes.multiplier & 0xFFFFFFFF
        return _core.DenseEpilogue(
            1, factor=factor, bias=codes.bias, pair=codes.pair, bits=codes.bits, key=key, row_keys=row_keys
        )
    thresholds = np.ascontiguousarray(codes.thresholds)
    numbers = np.asarray(codes.codes).astype(np.int32)
    deltas, first = np.diff(numbers), int(numbers[0])
    if isinstance(codes, StepCodes):
        return _core.DenseEpilogue(0, thresholds, deltas, first)
    factor = codes.multiplier & 0xFFFFFFFF
    return _core.DenseEpilogue(2, thresholds, deltas, first, factor, codes.bias, codes.pair)


def _reference_codes(rows: Any, weights: Array, codes: Codes, row_keys: npt.NDArray[np.uint64] | None) -> Array:
    acc = encode_dense_reference.accumulators(rows, weights)
    if isinstance(codes, StepCodes):
        return encode_dense_reference.interval_codes(acc, codes.thresholds, codes.codes)
    c = encode_dense_reference.cosines(acc, codes.multiplier, codes.bias, codes.pair)
    if isinstance(codes, PeriodicCodes):
        return encode_dense_reference.interval_codes(c, codes.thresholds, codes.codes)
    random: Array | int = 32768
    if codes.stream is not None and row_keys is not None:
        random = rounding_words(codes.stream.bits(row_keys, -(-c.shape[1] // 2)), c.shape[1])
    return encode_dense_reference.rounded_cosines(c, codes.bits, random)


def _insert(words: Words, layout: Layout, codes: Array, first_row: int) -> None:
    """Put the words of ``codes`` at ``first_row`` on, other rows of shared tiles kept."""
    n, m = codes.shape
    if n == 0:
        return
    lane = first_row % ROWS_PER_TILE
    shifted = np.zeros((lane + n, m), dtype=layout.code_dtype)
    shifted[lane:] = codes
    packed = reference.pack(shifted, layout)
    groups = slice(first_row // ROWS_PER_TILE, first_row // ROWS_PER_TILE + len(packed))
    row = np.arange(len(packed) * ROWS_PER_TILE).reshape(-1, ROWS_PER_TILE)
    ours = ((row >= lane) & (row < lane + n))[:, None, :]
    words[groups] = np.where(ours, packed, words[groups])
