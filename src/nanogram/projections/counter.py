"""Random numbers as a pure function of a seed, a purpose and indices or row content.

A `Stream` holds no state: entry (row, column) is the same whether drawn alone, in a block, in another order, on
another machine or thread. The generator is Threefry 4x32-20, which is add, rotate and xor alone, so that a
microcontroller or a GPU can draw the same numbers; ``docs/adr/0003-counter-based-generator.md`` gives the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from nanogram.ops import active_isa

from . import _threefry
from ._arguments import Indices, checked_float_dtype, checked_indices, checked_integer
from ._threefry import threefry4x32
from .content import row_keys

__all__ = ["Stream", "row_keys", "seed_from", "threefry4x32"]

_COLUMNS_END: Final = 1 << 34
# Entries the reference makes at a time.
_BLOCK: Final = 1 << 18
# Laws by their number in core/random/counter.hpp.
_LAWS: Final = {
    ("bits", "uint32"): 0,
    ("uniform", "float64"): 1,
    ("normal", "float32"): 2,
    ("normal", "float64"): 3,
    ("cauchy", "float32"): 4,
    ("cauchy", "float64"): 5,
    ("sign", "int8"): 6,
    ("ternary", "int8"): 7,
}


def seed_from(random_state: Any) -> int:
    """A 64-bit seed from scikit-learn's ``random_state``.

    Parameters
    ----------
    random_state : int, RandomState or None
        An integer from 0 to 2**64 - 1 is the seed itself. From a RandomState, or for None from NumPy's global
        one, a fresh seed is drawn, which advances it.

    Returns
    -------
    int

    Examples
    --------
    >>> from nanogram.projections import seed_from
    >>> seed_from(7)
    7
    """
    if isinstance(random_state, int | np.integer):
        return checked_integer("random_state", random_state, 0, 1 << 64)
    if not (random_state is None or random_state is np.random or isinstance(random_state, np.random.RandomState)):
        # check_random_state names neither the parameter nor what it accepts.
        raise ValueError(f"random_state={random_state!r} must be an integer from 0 to 2**64 - 1, a RandomState or None")
    return int(check_random_state(random_state).randint(0, 1 << 64, dtype=np.uint64))


@dataclass(frozen=True)
class Stream:
    """One stream of random numbers, addressed by row and column.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1; `seed_from` makes one of a ``random_state``.
    purpose : str
        What the numbers are for. Streams of one seed and different purposes are independent.
    salt : int, default=0
        From 0 to 2**64 - 1, for instance an epoch: another salt, another stream.

    Attributes
    ----------
    key : tuple of 4 int
        The Threefry key made of the three.

    Notes
    -----
    All drawing methods take

    rows : int, range or array of integers
        Rows by number, ``n`` standing for ``range(n)``, or any 64-bit keys, such as those of `row_keys`.
    columns : int, range or array of integers
        Columns by number, below 2**34.
    draw : int, default=0
        Further independent numbers of the same entries. Laws that need several words an entry use ``draw`` and
        those after it, as each says.

    and return an array of shape (rows, columns). Consecutive columns come four a Threefry call and are the fast
    path; columns by number cost one call each.

    Examples
    --------
    >>> from nanogram.projections import Stream
    >>> stream = Stream(7, "weights")
    >>> stream.sign(2, 5)
    array([[ 1,  1,  1,  1,  1],
           [ 1,  1, -1,  1,  1]], dtype=int8)
    >>> bool((stream.normal(range(3, 9), [4, 1]) == stream.normal(9, 5)[3:9, [4, 1]]).all())
    True
    """

    seed: int
    purpose: str
    salt: int = 0
    key: tuple[int, int, int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters and make the key."""
        seed = checked_integer("seed", self.seed, 0, 1 << 64)
        salt = checked_integer("salt", self.salt, 0, 1 << 64)
        if not isinstance(self.purpose, str):
            raise TypeError(f"purpose={self.purpose!r} must be a string")
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "salt", salt)
        object.__setattr__(self, "key", _threefry.stream_key(seed, self.purpose, salt))

    # ------------------------------------------------------------------ words

    def bits(self, rows: Indices, columns: Indices, *, draw: int = 0) -> npt.NDArray[np.uint32]:
        """Uniform 32-bit words.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "words").bits(1, 3)
        array([[3061853459, 1896010418, 3253468289]], dtype=uint32)
        """
        return self._fill("bits", np.uint32, rows, columns, draw)

    def _bits64(self, rows: Indices, columns: Indices, draw: int) -> npt.NDArray[np.uint64]:
        words = self.bits(rows, columns, draw=draw).astype(np.uint64)
        words |= self.bits(rows, columns, draw=draw + 1).astype(np.uint64) << np.uint64(32)
        return words

    def integers(self, rows: Indices, columns: Indices, *, high: int, draw: int = 0) -> npt.NDArray[np.int64]:
        """Integers from 0 to ``high - 1``, ``high`` up to 2**63; words ``draw`` (low) and ``draw + 1`` (high).

        ``floor(word * high / 2**64)`` of a 64-bit word: no probability differs from ``1 / high`` by 2**-64.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "dice").integers(1, 6, high=6) + 1
        array([[5, 1, 2, 5, 2, 1]])
        """
        high = checked_integer("high", high, 1, (1 << 63) + 1)
        return _threefry.multiply_high(self._bits64(rows, columns, draw), high)

    # ------------------------------------------------------------------ laws

    def uniform(self, rows: Indices, columns: Indices, *, draw: int = 0) -> npt.NDArray[np.float64]:
        """Uniform numbers ``(word + 1/2) / 2**32``: 2**32 equally spaced values, never 0 or 1.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "phases").uniform(1, 2)
        array([[0.10157556, 0.09565708]])
        """
        return self._fill("uniform", np.float64, rows, columns, draw)

    def normal(
        self, rows: Indices, columns: Indices, *, draw: int = 0, dtype: npt.DTypeLike = np.float32
    ) -> npt.NDArray[Any]:
        """Standard normal numbers: the inverse distribution function of `uniform`, within 2e-9; magnitudes up to 6.338.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "weights").normal(1, 2)
        array([[-0.40121964, -0.1225149 ]], dtype=float32)
        """
        return self._fill("normal", checked_float_dtype(dtype), rows, columns, draw)

    def cauchy(
        self, rows: Indices, columns: Indices, *, draw: int = 0, dtype: npt.DTypeLike = np.float32
    ) -> npt.NDArray[Any]:
        """Cauchy numbers: the normal of ``draw`` over that of ``draw + 1``.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "weights").cauchy(1, 2)
        array([[ 4.471043  , -0.16765204]], dtype=float32)
        """
        return self._fill("cauchy", checked_float_dtype(dtype), rows, columns, draw, draws=2)

    def student_t(
        self, rows: Indices, columns: Indices, *, df: int, draw: int = 0, dtype: npt.DTypeLike = np.float32
    ) -> npt.NDArray[Any]:
        """Student's t with ``df`` degrees of freedom from the ``df + 1`` normals of ``draw`` and those after it.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "weights").student_t(1, 2, df=3)
        array([[-0.77010924, -0.09005328]], dtype=float32)
        """
        df = checked_integer("df", df, 1, 1 << 31)
        dtype = checked_float_dtype(dtype)
        draw = self._checked_draw(draw, df + 1)
        numerator = self.normal(rows, columns, draw=draw, dtype=np.float64)
        total = np.zeros_like(numerator)
        for d in range(1, df + 1):
            normal = self.normal(rows, columns, draw=draw + d, dtype=np.float64)
            total += normal * normal
        return (numerator / np.sqrt(total / df)).astype(dtype)

    def sign(self, rows: Indices, columns: Indices, *, draw: int = 0) -> npt.NDArray[np.int8]:
        """Fair signs, +1 or -1 (the word's top bit set).

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "signs").sign(1, 6)
        array([[ 1, -1, -1,  1,  1, -1]], dtype=int8)
        """
        return self._fill("sign", np.int8, rows, columns, draw)

    def ternary(self, rows: Indices, columns: Indices, *, sparsity: float, draw: int = 0) -> npt.NDArray[np.int8]:
        """Numbers -1, 0 and +1, 0 with probability ``sparsity`` (to 2**-32), the signs fair.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "weights").ternary(1, 8, sparsity=2 / 3)
        array([[0, 0, 0, 1, 0, 0, 0, 0]], dtype=int8)
        """
        if not 0.0 <= sparsity <= 1.0:
            raise ValueError(f"sparsity={sparsity!r} must be from 0 to 1")
        return self._fill("ternary", np.int8, rows, columns, draw, threshold=round((1.0 - sparsity) * 2.0**31))

    # ------------------------------------------------------------------ orders

    def choice(self, n: int, size: int, *, row: int = 0, draw: int = 0) -> npt.NDArray[np.int64]:
        """The first ``size`` elements of `permutation`: a sample of ``range(n)`` without replacement.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "landmarks").choice(100, 5)
        array([51, 94, 55, 97, 58])
        """
        n = checked_integer("n", n, 0, _COLUMNS_END + 1)
        size = checked_integer("size", size, 0, n + 1)
        keys = self._bits64([row], n, draw)[0]
        if size == 0:
            return np.empty(0, dtype=np.int64)
        # All keys up to the size-th smallest, in order of index: a stable sort of these is that of all.
        few = np.flatnonzero(keys <= np.partition(keys, size - 1)[size - 1])
        return few[np.argsort(keys[few], kind="stable")[:size]].astype(np.int64)

    def permutation(self, n: int, *, row: int = 0, draw: int = 0) -> npt.NDArray[np.int64]:
        """The numbers 0 to ``n - 1`` in random order.

        Column ``j`` of the row gives ``j`` a 64-bit key (words ``draw``, low, and ``draw + 1``); the order is that
        of the keys, equal keys by number.

        Examples
        --------
        >>> from nanogram.projections import Stream
        >>> Stream(7, "shuffle").permutation(8)
        array([2, 0, 1, 4, 7, 5, 3, 6])
        """
        return self.choice(n, n, row=row, draw=draw)

    # ------------------------------------------------------------------ both implementations

    @staticmethod
    def _checked_draw(draw: int, draws: int) -> int:
        return checked_integer("draw", draw, 0, (1 << 32) - draws + 1)

    def _fill(
        self,
        law: str,
        dtype: npt.DTypeLike,
        rows: Indices,
        columns: Indices,
        draw: int,
        draws: int = 1,
        threshold: int = 0,
    ) -> npt.NDArray[Any]:
        draw = self._checked_draw(draw, draws)
        dtype = np.dtype(dtype)
        first_row, n_rows, row_array = checked_indices("rows", rows, 1 << 64)
        first_column, n_columns, column_array = checked_indices("columns", columns, _COLUMNS_END)
        if row_array is None:
            row_array = np.arange(n_rows, dtype=np.uint64) + np.uint64(first_row)
        out = np.empty((n_rows, n_columns), dtype=dtype)
        isa = active_isa()
        if isa is not None:
            from nanogram import _core

            table = _threefry.normal_table() if law in ("normal", "cauchy") else None
            number = _LAWS[law, dtype.name]
            _core.counter_fill(
                number, self.key, draw, row_array, first_column, column_array, table, threshold, out, isa
            )
            return out
        if column_array is None:
            column_array = np.arange(first_column, first_column + n_columns, dtype=np.uint64)
        for start in range(0, n_rows if n_columns else 0, step := max(1, _BLOCK // max(1, n_columns))):
            part = slice(start, start + step)
            words = [_threefry.entry_words(self.key, draw + d, row_array[part], column_array) for d in range(draws)]
            out[part] = _apply(law, words, threshold)
        return out


def _apply(law: str, words: list[npt.NDArray[np.uint32]], threshold: int) -> npt.NDArray[Any]:
    """What the words of one block make under a law."""
    match law:
        case "bits":
            return words[0]
        case "uniform":
            return _threefry.uniform_of(words[0])
        case "normal":
            return _threefry.normal_of(words[0])
        case "cauchy":
            return _threefry.normal_of(words[0]) / _threefry.normal_of(words[1])
        case "sign":
            return _threefry.ternary_of(words[0], 1 << 31)
        case _:
            return _threefry.ternary_of(words[0], threshold)
