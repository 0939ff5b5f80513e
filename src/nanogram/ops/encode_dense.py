"""Codes of integer rows times unstructured integer weights, in one pass: no float feature is ever stored.

`encode_dense_reference` is the specification; the compiled core (``core/encode_dense``) has a path for few weights that
are not zero, one for signs and trits, and two integer products. All give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import encode_dense_layouts as layouts
from . import encode_dense_reference, reference
from ._isa import active_isa
from .encode import CosineEpilogue, Epilogue, StepEpilogue
from .encode_reference import rounding_words
from .layouts import ROWS_PER_TILE, Layout, get_layout, words_shape

if TYPE_CHECKING:
    from nanogram import _core
else:  # None where there is no compiled core, and then not used
    from ._isa import _core

__all__ = ["IntegerWeights", "encode_dense"]

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]

PATHS: Final = ("sparse", "table", "gemm8", "gemm16")
# The arrays of core/encode_dense/encode_dense.hpp; each path has some of them.
_ARRAYS: Final = ("groups", "entries", "starts", "order", "tiles8", "sums", "tiles16")
# Below this share of weights that are not zero, lists of them are faster than tables of four trits.
_SPARSE_SHARE: Final = 0.3
# Rows that the reference, or hashing, takes as an array at a time.
_BLOCK: Final = 1 << 20


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
    >>> from nanogram import ops
    >>> from nanogram.ops.encode import StepEpilogue
    >>> from nanogram.ops.encode_dense import IntegerWeights, encode_dense
    >>> weights = IntegerWeights(np.array([[1, -1, 0], [1, 1, 1]], dtype=np.int8))
    >>> rows = np.array([[5, 3, 0], [-4, 1, 2]], dtype=np.int16)
    >>> step = StepEpilogue(np.zeros((1, 2), dtype=np.int32), np.array([0, 1]), "u1")
    >>> ops.unpack(encode_dense(rows, weights, step), "u1", (2, 2))
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

    def prepared(self, isa: int) -> tuple[Any, ...]:
        """The weights as the core takes them, made once a path."""
        path = self.chosen_path(isa)
        if path not in self._made:
            self._made[path] = self._make(path)
        made: tuple[Any, ...] = self._made[path]
        return made

    def _make(self, path: str) -> tuple[Any, ...]:
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
        held = tuple(arrays.get(name) for name in _ARRAYS)
        return PATHS.index(path), self.most, base, layouts.TABLE_DIGITS[base], m, p, *held

    def __getstate__(self) -> dict[str, Any]:
        """Without what was prepared, which is made again where it is needed."""
        return {"weights": self.weights, "bits": self.bits, "path": self.path, "_made": {}}


def encode_dense(
    rows: Any,
    weights: IntegerWeights,
    epilogue: Epilogue,
    *,
    pair: bool = False,
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
    epilogue : StepEpilogue, CosineEpilogue or PeriodicEpilogue
        Thresholds are compared with the 32-bit accumulators. The phase of a cosine is the upper 16 bits of
        ``acc * multiplier + bias``, both taken modulo ``2**32``.
    pair : bool, default=False
        Of cosines make two columns for each weight vector: column 2 j is the cosine, column 2 j + 1 the sine.
    words : ndarray of uint32, optional
        Where to write: the words of all rows, zero (or to be replaced) where these go. New ones by default.
    first_row : int, default=0
        The row of ``words`` at which ``rows`` start; rows before and after keep their codes.
    row_keys : ndarray of uint64, shape (n,), optional
        Keys for stochastic rounding; by default `nanogram.projections.row_keys` of the rows.

    Returns
    -------
    ndarray of uint32
        ``words``, of shape ``words_shape(layout, ..., m)`` (2 m columns for pairs).
    """
    m, p = weights.weights.shape
    rows = _checked_rows(rows, p, weights.most)
    checked = _checked_epilogue(epilogue, m, pair)
    n, layout = rows.shape[0], checked.layout
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
    if checked.stream is not None and row_keys is None:
        row_keys = _keys(rows)
    isa = active_isa()
    if isa is None:
        _insert(words, layout, _reference_codes(rows, weights.weights, checked, row_keys), first_row)
        return words
    plain, compressed = (None, (rows.indptr, rows.indices, rows.data)) if sp.issparse(rows) else (rows, None)
    native = checked.native(row_keys)
    _core.encode_dense(plain, compressed, weights.prepared(isa), native, words, layout.index, first_row, isa)
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


class _Checked(NamedTuple):
    """An epilogue made plain; without thresholds it is a rounded cosine, without bias a step of the accumulators."""

    layout: Layout
    thresholds: npt.NDArray[np.int32] | None
    codes: Array
    multiplier: int
    bias: npt.NDArray[np.uint32] | None
    bits: int
    stream: Any
    pair: bool

    def native(self, row_keys: npt.NDArray[np.uint64] | None) -> tuple[Any, ...]:
        """The same for the core."""
        kind = 1 if self.thresholds is None else 0 if self.bias is None else 2
        deltas, first = np.diff(self.codes).astype(np.int32), int(self.codes[0])
        key = None if self.stream is None else self.stream.key
        return (
            kind, self.thresholds, deltas, first, self.multiplier, self.bias, self.pair, self.bits, key, row_keys,
        )  # fmt: skip


def _checked_epilogue(epilogue: Epilogue, m: int, pair: bool) -> _Checked:
    if epilogue.n_columns != m:
        raise ValueError(f"the epilogue has n_columns={epilogue.n_columns}; the weights have {m} rows")
    layout = get_layout(epilogue.layout)
    thresholds = bias = stream = None
    multiplier, bits, codes = 0, 1, np.zeros(1, dtype=np.int64)
    if not isinstance(epilogue, CosineEpilogue):
        thresholds, codes = _checked_steps(epilogue.thresholds, epilogue.codes, m, layout)
    if not isinstance(epilogue, StepEpilogue):
        phase = np.asarray(epilogue.bias)
        if phase.dtype.kind not in "iu":
            raise ValueError(f"bias has dtype {phase.dtype}; integers are accepted")
        bias, multiplier = (phase & 0xFFFFFFFF).astype(np.uint32), int(epilogue.multiplier) & 0xFFFFFFFF
    elif pair:
        raise ValueError("pair=True needs cosines; thresholds on the accumulators give one column each")
    if isinstance(epilogue, CosineEpilogue):
        bits = epilogue.bits
        if not 1 <= bits <= 16:
            raise ValueError(f"bits={bits!r} must be from 1 to 16")
        if epilogue.rounding not in ("nearest", "stochastic"):
            raise ValueError(f"rounding={epilogue.rounding!r} must be 'nearest' or 'stochastic'")
        stream = epilogue.stream if epilogue.rounding == "stochastic" else None
        if epilogue.rounding == "stochastic" and stream is None:
            raise ValueError("stream=None: stochastic rounding needs a Stream")
    return _Checked(layout, thresholds, codes, multiplier, bias, bits, stream, pair)


def _checked_steps(
    thresholds: Array, codes: Array, m: int, layout: Layout
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    thresholds, codes = np.asarray(thresholds), np.asarray(codes)
    if thresholds.ndim != 2 or thresholds.shape[1] != m or thresholds.dtype.kind not in "iu":
        raise ValueError(
            f"thresholds has dtype {thresholds.dtype} and shape {thresholds.shape}; integers of shape (L - 1, {m}) "
            "are accepted"
        )
    if codes.shape != (len(thresholds) + 1,) or codes.dtype.kind not in "iu":
        raise ValueError(f"codes={codes!r} must be {len(thresholds) + 1} integers, one more than thresholds")
    if int(codes.min()) < 0 or int(codes.max()) >= layout.n_codes:
        raise ValueError(f"codes={codes.tolist()} must lie in 0..{layout.n_codes - 1} for layout {layout.name!r}")
    # An accumulator is above -2**31 and at most 2**31 - 1: clipped thresholds mean the same.
    clipped = np.clip(thresholds, -(2**31), 2**31 - 1)
    return np.ascontiguousarray(clipped, dtype=np.int32), codes.astype(np.int64)


def _keys(rows: Any) -> npt.NDArray[np.uint64]:
    from nanogram.projections import row_keys

    if isinstance(rows, np.ndarray):
        return row_keys(rows)
    keys = np.empty(rows.shape[0], dtype=np.uint64)
    step = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(keys), step):
        keys[start : start + step] = row_keys(rows[start : start + step].toarray())
    return keys


def _reference_codes(rows: Any, weights: Array, e: _Checked, row_keys: npt.NDArray[np.uint64] | None) -> Array:
    acc = encode_dense_reference.accumulators(rows, weights)
    if e.bias is None:
        assert e.thresholds is not None, "without phases there are thresholds"
        return encode_dense_reference.interval_codes(acc, e.thresholds, e.codes)
    c = encode_dense_reference.cosines(acc, e.multiplier, e.bias, e.pair)
    if e.thresholds is not None:
        return encode_dense_reference.interval_codes(c, np.repeat(e.thresholds, 1 + e.pair, axis=1), e.codes)
    random: Array | int = 32768
    if e.stream is not None:
        random = rounding_words(e.stream.bits(row_keys, -(-c.shape[1] // 2)), c.shape[1])
    return encode_dense_reference.rounded_cosines(c, e.bits, random)


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
