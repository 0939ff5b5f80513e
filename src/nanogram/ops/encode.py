"""Fused encoders through Hadamard projections: rows in, packed codes out, in 16-bit integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import encode_reference, reference
from ._isa import active_isa
from .layouts import ROWS_PER_TILE, Layout, get_layout, words_shape

if TYPE_CHECKING:
    from nanogram import _core
else:  # None where there is no compiled core, and then not used
    from ._isa import _core

__all__ = [
    "CosineEpilogue",
    "Encoded",
    "Epilogue",
    "GridRows",
    "PeriodicEpilogue",
    "StepEpilogue",
    "encode_hadamard",
    "quantise_rows",
]

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]

_NATIVE = ("float32", "float64", "uint8", "int8", "int16", "uint16", "int32")
# Rows the reference takes at a time, and entries that rows of other types are converted by.
_REFERENCE_ENTRIES = 1 << 20


class GridRows(NamedTuple):
    """Rows and the grid they are to be put on: ``clip(rint((double(X) - mu) * inv_grid), -limit, limit)``.

    NaN becomes ``limit`` and counts as clipped; callers who refuse it do so before.
    """

    X: Array
    mu: npt.NDArray[np.float64]
    inv_grid: float
    limit: int = 32767


class Encoded(NamedTuple):
    """Packed codes, the number of entries clipped to the grid, and the number of rows shrunk by the guard."""

    words: Words
    n_clipped: int
    n_shrunk: int


@dataclass(frozen=True)
class StepEpilogue:
    """Codes ``codes[number of thresholds below y]``.

    Attributes
    ----------
    thresholds : int array of shape (L - 1, m)
        In units of the transformed integers, ascending along axis 0; beyond 16 bits they are clipped.
    codes : sequence of L int
        The code of each interval, lowest first.
    layout : str
        How the codes are stored.
    """

    thresholds: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int64]
    layout: str

    @property
    def n_columns(self) -> int:
        """Columns encoded."""
        return int(np.shape(self.thresholds)[1])


@dataclass(frozen=True)
class CosineEpilogue:
    """Cosines of ``2 pi phase / 65536``, ``phase = (y * multiplier + bias) mod 65536``, on ``2**bits`` levels.

    Attributes
    ----------
    bias : int array of shape (m,)
        Taken modulo 65536; a bias less by 16384 gives the sine.
    bits : {1, 2, 4, 8, 16}
        Level q stands for ``-1 + 2 q / (2**bits - 1)``.
    rounding : {"nearest", "stochastic"}
        Stochastic rounding draws from ``stream`` by row content (`nanogram.projections.row_keys` of the integer
        row) and column.
    stream : Stream, optional
        Of `nanogram.projections`; its salt resamples the rounding.
    multiplier : int
        From -32768 to 32767.
    """

    bias: npt.NDArray[Any]
    bits: int
    rounding: str = "nearest"
    stream: Any = None
    multiplier: int = 1

    @property
    def layout(self) -> str:
        """How the codes are stored."""
        return f"u{self.bits}"

    @property
    def n_columns(self) -> int:
        """Columns encoded."""
        return int(np.shape(self.bias)[0])


@dataclass(frozen=True)
class PeriodicEpilogue:
    """A step code on the cosine: thresholds on ``65535 (1 + cos) / 2``, an integer from 0 to 65535.

    Attributes as those of `StepEpilogue` (thresholds clipped to 0 .. 65535) and `CosineEpilogue`.
    """

    bias: npt.NDArray[Any]
    thresholds: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int64]
    layout: str
    multiplier: int = 1

    @property
    def n_columns(self) -> int:
        """Columns encoded."""
        return int(np.shape(self.bias)[0])


Epilogue = StepEpilogue | CosineEpilogue | PeriodicEpilogue


class _Checked(NamedTuple):
    """An epilogue in the form the core takes."""

    kind: int
    layout: Layout
    thresholds: npt.NDArray[np.int32] | None
    codes: npt.NDArray[np.int64] | None
    multiplier: int
    bias: npt.NDArray[np.uint16] | None
    key: tuple[int, int, int, int]


def _checked_steps(
    epilogue: StepEpilogue | PeriodicEpilogue, layout: Layout
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    thresholds, codes = np.asarray(epilogue.thresholds), np.asarray(epilogue.codes)
    if thresholds.ndim != 2 or thresholds.dtype.kind not in "iu" or codes.shape != (len(thresholds) + 1,):
        raise ValueError(
            f"thresholds {thresholds.shape} of {thresholds.dtype} and codes {codes.shape}: integers of shape "
            "(L - 1, m) and (L,) are accepted"
        )
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= layout.n_codes:
        raise ValueError(f"codes={codes.tolist()} must be integers from 0 to {layout.n_codes - 1} in {layout.name!r}")
    if (thresholds[1:] < thresholds[:-1]).any():
        raise ValueError("thresholds must ascend along axis 0")
    return np.ascontiguousarray(np.clip(thresholds, -(2**31), 2**31 - 1), dtype=np.int32), codes.astype(np.int64)


def _checked_epilogue(epilogue: Epilogue) -> _Checked:
    layout = get_layout(epilogue.layout)
    thresholds = codes = bias = None
    multiplier, key = 1, (0, 0, 0, 0)
    if not isinstance(epilogue, CosineEpilogue):
        thresholds, codes = _checked_steps(epilogue, layout)
    if not isinstance(epilogue, StepEpilogue):
        phase = np.asarray(epilogue.bias)
        if phase.ndim != 1 or phase.dtype.kind not in "iu":
            raise ValueError(f"bias {phase.shape} of {phase.dtype}: integers of shape (m,) are accepted")
        bias = (phase & 0xFFFF).astype(np.uint16)
        multiplier = epilogue.multiplier
        if not -32768 <= multiplier <= 32767:
            raise ValueError(f"multiplier={multiplier!r} must be an integer from -32768 to 32767")
        if thresholds is not None and thresholds.shape[1] != len(bias):
            raise ValueError(f"thresholds for {thresholds.shape[1]} columns and bias for {len(bias)} do not agree")
    if isinstance(epilogue, StepEpilogue):
        return _Checked(0, layout, thresholds, codes, 1, None, key)
    if isinstance(epilogue, PeriodicEpilogue):
        return _Checked(3, layout, thresholds, codes, multiplier, bias, key)
    if epilogue.bits not in (1, 2, 4, 8, 16):
        raise ValueError(f"bits={epilogue.bits!r} must be 1, 2, 4, 8 or 16")
    if epilogue.rounding not in ("nearest", "stochastic"):
        raise ValueError(f"rounding={epilogue.rounding!r} must be 'nearest' or 'stochastic'")
    if epilogue.rounding == "nearest":
        return _Checked(1, layout, None, None, multiplier, bias, key)
    if epilogue.stream is None:
        raise ValueError("stream=None: stochastic rounding needs a Stream")
    return _Checked(2, layout, None, None, multiplier, bias, epilogue.stream.key)


def _checked_grid(rows: GridRows) -> GridRows:
    X, mu = np.asarray(rows.X), np.ascontiguousarray(rows.mu, dtype=np.float64)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {X.dtype} and shape {X.shape}; a 2-D array of real numbers is accepted")
    if mu.shape != X.shape[1:]:
        raise ValueError(f"mu has shape {mu.shape}; expected ({X.shape[1]},)")
    if not 0.0 <= rows.inv_grid < np.inf:
        raise ValueError(f"inv_grid={rows.inv_grid!r} must be finite and not negative")
    if not 1 <= rows.limit <= 32767:
        raise ValueError(f"limit={rows.limit!r} must be from 1 to 32767")
    if X.dtype.kind == "b":
        X = X.view(np.uint8)
    return GridRows(X, mu, float(rows.inv_grid), int(rows.limit))


def _native_rows(X: Array) -> Array:
    """C-contiguous and of a type the core reads."""
    return np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("=") if X.dtype.name in _NATIVE else np.float64)


def quantise_rows(
    X: Array, mu: npt.NDArray[np.float64], inv_grid: float, limit: int = 32767
) -> tuple[npt.NDArray[np.int16], int]:
    """Rows on the grid, and how many entries were clipped.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.ops.encode import quantise_rows
    >>> quantise_rows(np.array([[0.5, 2.0], [-30.0, 1.0]]), np.array([0.0, 1.0]), 100.0, limit=2047)
    (array([[   50,   100],
           [-2047,     0]], dtype=int16), 1)
    """
    rows = _checked_grid(GridRows(X, mu, inv_grid, limit))
    isa = active_isa()
    if isa is None:
        return encode_reference.quantise_rows(*rows)
    out = np.empty(rows.X.shape, dtype=np.int16)
    return out, _core.quantise_rows(_native_rows(rows.X), rows.mu, rows.inv_grid, rows.limit, out, isa)


def _reference_words(
    x: npt.NDArray[np.int16], negative: npt.NDArray[np.bool_], size: int, n_columns: int, checked: _Checked
) -> tuple[Words, int]:
    shrunk = int(np.count_nonzero(encode_reference.guard_shifts(x, size, negative.shape[1])))
    y = encode_reference.hadamard_int(x, negative, size, n_columns)
    kind, layout, thresholds, codes, multiplier, bias, key = checked
    if bias is None:
        assert thresholds is not None
        assert codes is not None
        q = encode_reference.step_codes(y, thresholds, codes)
    else:
        c = encode_reference.cos_u16(encode_reference.phases(y, multiplier, bias))
        if kind == 3:
            assert thresholds is not None
            assert codes is not None
            signed = (c.astype(np.int32) - 32768).astype(np.int16)
            q = encode_reference.step_codes(signed, thresholds.astype(np.int64) - 32768, codes)
        elif kind == 2:
            from nanogram.projections import _threefry
            from nanogram.projections.content import row_keys

            columns = np.arange((n_columns + 1) // 2, dtype=np.uint64)
            bits = _threefry.entry_words(key, 0, row_keys(x), columns)
            q = encode_reference.cosine_codes(
                c, 32 // layout.per_word, encode_reference.rounding_words(bits, n_columns)
            )
        else:
            q = encode_reference.cosine_codes(c, 32 // layout.per_word)
    return reference.pack(q.astype(layout.code_dtype), layout), shrunk


def encode_hadamard(
    rows: Array | GridRows,
    signs: npt.NDArray[np.uint32],
    epilogue: Epilogue,
    *,
    words: Words | None = None,
    row_offset: int = 0,
) -> Encoded:
    """Packed codes of ``H D_r ... H D_1 x`` for integer rows x, or rows to be put on a grid on the way.

    The integers, hence the codes, are the same to the bit on every instruction set, for every number of threads and
    whichever rows are encoded together. `nanogram.ops.encode_reference` specifies them: the transform there is
    `hadamard_gain` times the unnormalised one, `hadamard_capacity` bounds the grid.

    Parameters
    ----------
    rows : int16 array of shape (n, p), or GridRows
        The block size is the least power of two from p on.
    signs : uint32 array of shape (n_blocks, rounds, ceil(block_size / 32))
        Packed diagonals, as `Hadamard.hadamard_signs` gives them; 1 to 4 rounds, just enough blocks for the columns
        of the epilogue.
    epilogue : StepEpilogue, CosineEpilogue or PeriodicEpilogue
        What becomes of a value.
    words : uint32 array of `layouts.words_shape`, optional
        Where the codes go: a matrix of at least ``row_offset + n`` rows.
    row_offset : int, default=0
        Row of ``words`` at which to begin, a multiple of 16. Rows that fill up the last tile get code 0.

    Returns
    -------
    Encoded
        The words, the number of clipped entries and the number of rows shrunk by the guard.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.ops.encode import StepEpilogue, encode_hadamard
    >>> signs = np.zeros((1, 1, 1), dtype=np.uint32)
    >>> steps = StepEpilogue(np.array([[-1] * 4, [1] * 4]), np.array([0, 1, 2]), "u2")
    >>> encoded = encode_hadamard(np.array([[5, 1, 0, 0]], dtype=np.int16), signs, steps)
    >>> [int(encoded.words[0, 0, 0]) >> 2 * j & 3 for j in range(4)]
    [2, 2, 2, 2]
    """
    grid = _checked_grid(rows) if isinstance(rows, GridRows) else None
    X = rows.X if isinstance(rows, GridRows) else np.asarray(rows)
    if grid is not None:
        X = grid.X
    elif X.ndim != 2 or X.dtype != np.int16:
        raise ValueError(f"rows {X.shape} of {X.dtype}: int16 of shape (n, p) or GridRows are accepted")
    n, p = X.shape
    if p == 0:
        raise ValueError("rows have no columns")
    checked = _checked_epilogue(epilogue)
    m, size = epilogue.n_columns, 1 << (p - 1).bit_length()
    n_blocks, n_words = -(-m // size), -(-size // 32)
    signs = np.asarray(signs)
    if signs.dtype != np.uint32 or signs.ndim != 3 or signs.shape != (n_blocks, signs.shape[1], n_words):
        raise ValueError(
            f"signs {signs.shape} of {signs.dtype}: uint32 of shape ({n_blocks}, rounds, {n_words}) expected for "
            f"{m} columns from {p} inputs"
        )
    if not 1 <= signs.shape[1] <= 4:
        raise ValueError(f"signs are of {signs.shape[1]} rounds; 1 to 4 are offered")
    if words is None:
        words = np.zeros(words_shape(checked.layout, row_offset + n, m), dtype=np.uint32)
    tiles = -(-n // ROWS_PER_TILE)
    if row_offset < 0 or row_offset % ROWS_PER_TILE or row_offset // ROWS_PER_TILE + tiles > len(words):
        raise ValueError(
            f"row_offset={row_offset!r} must be a multiple of {ROWS_PER_TILE} from which {n} rows fit into "
            f"{len(words)} tiles"
        )
    expected = words_shape(checked.layout, 16 * len(words), m)
    if words.shape != expected or words.dtype != np.uint32 or not words.flags.c_contiguous:
        raise ValueError(f"words {words.shape} of {words.dtype}: C-contiguous uint32 of shape {expected} expected")
    isa = active_isa()
    if isa is None:
        return _by_reference(X, grid, signs, size, m, checked, words, row_offset)
    mu, inv_grid, limit = (grid.mu, grid.inv_grid, grid.limit) if grid is not None else (None, 1.0, 32767)
    clipped, shrunk = _core.encode_hadamard(
        _native_rows(X),
        mu,
        inv_grid,
        limit,
        np.ascontiguousarray(signs),
        m,
        checked.kind,
        checked.layout.index,
        checked.thresholds,
        checked.codes,
        checked.multiplier,
        checked.bias,
        checked.key,
        words,
        row_offset,
        isa,
    )
    return Encoded(words, clipped, shrunk)


def _by_reference(
    X: Array,
    grid: GridRows | None,
    signs: npt.NDArray[np.uint32],
    size: int,
    m: int,
    checked: _Checked,
    words: Words,
    row_offset: int,
) -> Encoded:
    packed = np.ascontiguousarray(signs).astype("<u4").view(np.uint8)
    negative = np.unpackbits(packed, axis=2, bitorder="little")[:, :, :size].astype(bool)
    clipped = shrunk = 0
    step = max(1, _REFERENCE_ENTRIES // max(1, m) // ROWS_PER_TILE) * ROWS_PER_TILE
    for start in range(0, len(X), step):
        x = X[start : start + step]
        if grid is not None:
            x, more = encode_reference.quantise_rows(x, *grid[1:])
            clipped += more
        part, more = _reference_words(x, negative, size, m, checked)
        first = (row_offset + start) // ROWS_PER_TILE
        words[first : first + len(part)] = part
        shrunk += more
    return Encoded(words, clipped, shrunk)
