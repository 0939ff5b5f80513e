"""What a code is: the contract between feature maps, CodeMatrix and files.

A code turns values into small integers ``q`` (*encode*) and back (*decode*), and knows the layout
in which they are stored (*pack*, *unpack*). Every decoder is one of two kinds, so that products can
stay in the integers:

    linear    value = scale * (q - zero2 / 2) + offset
    table     value = table[q]                                (layout "u2", at most four values)

both in IEEE double and then rounded to float32. ``scale`` and ``offset`` may differ by column.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from nanogram import ops

from ._arrays import by_blocks, plain, real_array

__all__ = ["Code"]

Array = npt.NDArray[Any]


class Code(BaseEstimator):
    """Base of all codes; a scikit-learn parameter object without a ``fit``.

    Parameters live in the constructor's arguments alone, so ``get_params``, ``set_params``, ``clone``
    and grids work; what follows from them is computed, and checked, on use. Two codes are equal
    when their types and parameters are.
    """

    #: Name of the code in files.
    kind: ClassVar[str]

    # ------------------------------------------------------------------ storage

    @property
    @abstractmethod
    def layout(self) -> str | None:
        """Name of the packed layout (`nanogram.ops.layouts`); None for floats."""

    @property
    def bits(self) -> float:
        """Stored bits a code."""
        return ops.get_layout(self._packed_layout()).bits

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """Type of decoded values."""
        return np.dtype(np.float32)

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """Type of unpacked codes."""
        return ops.get_layout(self._packed_layout()).code_dtype

    @property
    def n_columns(self) -> int | None:
        """Columns the code is made for; None when every column is coded alike."""
        return None

    # ------------------------------------------------------------------ decoder

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """Codes run from 0 to ``n_levels - 1``."""

    @property
    def zero2(self) -> int:
        """Twice the zero point of the linear decoder."""
        return self.n_levels - 1

    @property
    @abstractmethod
    def scale(self) -> Any:
        """Step of the linear decoder: a float, or an array with one a column."""

    @property
    @abstractmethod
    def offset(self) -> Any:
        """Offset of the linear decoder: a float, or an array with one a column."""

    @property
    def table(self) -> npt.NDArray[np.float64] | None:
        """The four values of codes 0 to 3, the last one repeated; None when the decoder is linear."""
        return None

    @property
    def code_values(self) -> npt.NDArray[np.float64]:
        """Decoded value of every code, before rounding to float32: (n_levels,), or (n_levels, m) by column."""
        table = self.table
        if table is not None:
            return table[: self.n_levels].copy()
        q = np.arange(self.n_levels, dtype=np.float64) - self.zero2 / 2
        if self.n_columns is not None:
            q = q[:, None]
        return np.asarray(self.scale * q + self.offset, dtype=np.float64)

    # ------------------------------------------------------------------ error

    def bias(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """``E[decode(encode(x))] - x``, elementwise; here of a deterministic code."""
        x = self._points(x)
        codes, values = self.encode(x), self.code_values
        decoded = values[codes] if self.n_columns is None else values[codes, np.arange(self.n_columns)]
        return np.asarray(decoded - x)

    def variance(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """``Var[decode(encode(x))]`` over the rounding noise, elementwise; 0 for a deterministic code."""
        return np.zeros(self._points(x).shape)

    @property
    def max_variance(self) -> Any:
        """Largest variance over all x (an array where it differs by column)."""
        return 0.0

    # ------------------------------------------------------------------ values and codes

    @abstractmethod
    def encode(self, values: npt.ArrayLike, words: Any = None, random_state: Any = None) -> Array:
        """Codes of values, of the same shape; ``words`` and ``random_state`` feed stochastic rounding."""

    def decode(self, codes: npt.ArrayLike, columns: Any = None) -> npt.NDArray[np.float32]:
        """float32 values of codes.

        Parameters
        ----------
        codes : array of integers below ``n_levels``
            The last axis runs over columns when the code differs by column.
        columns : index, optional
            Which of the code's columns the last axis of ``codes`` holds (default: all of them).
        """
        code = self if columns is None else self.select_columns(columns)
        codes = self._codes(codes)
        if code.n_columns is None:
            return code.code_values.astype(np.float32)[codes]
        code._columns_match(codes, "codes")
        centre, scale, offset = code.zero2 / 2, code.scale, code.offset
        return by_blocks(lambda block: scale * (block.astype(np.float64) - centre) + offset, codes, np.float32)

    # ------------------------------------------------------------------ codes and words

    def pack(self, codes: npt.ArrayLike) -> Array:
        """Words that hold a matrix of codes in the code's layout."""
        codes = self._codes(codes)
        if codes.ndim != 2:
            raise ValueError(f"codes has {codes.ndim} dimensions; pack takes a matrix (n, m)")
        self._columns_match(codes, "codes")
        return ops.pack(codes.astype(self.code_dtype, copy=False), self._packed_layout())

    def unpack(self, words: Array, shape: tuple[int, int]) -> Array:
        """The codes, of shape ``shape``, that words hold."""
        return ops.unpack(words, self._packed_layout(), shape)

    # ------------------------------------------------------------------ other codes

    def select_columns(self, index: Any) -> Self:
        """The code of some of the columns; the same object when all columns are coded alike."""
        del index
        return self

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The code whose values are ``factor`` times as large for the same stored codes; factor > 0."""

    def compatible(self, other: Code) -> bool:
        """True when codes stored under ``other`` mean the same under this code: same layout and decoder."""
        if self.layout is None or other.layout is None:
            return self.layout == other.layout and self.code_dtype == other.code_dtype

        def same(a: Any, b: Any) -> bool:
            return a is b or (a is not None and b is not None and np.array_equal(a, b))

        return (
            (self.layout, self.n_levels, self.zero2) == (other.layout, other.n_levels, other.zero2)
            and same(self.scale, other.scale)
            and same(self.offset, other.offset)
            and same(self.table, other.table)
        )

    # ------------------------------------------------------------------ files

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The code as plain JSON, floats in hexadecimal so that they return to the bit."""

    @classmethod
    @abstractmethod
    def _from_json(cls, fields: dict[str, Any]) -> Self:
        """The code from fields that may be hostile; ValueError names the field that is not right."""

    # ------------------------------------------------------------------ equality

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Code):
            return NotImplemented
        theirs = other.get_params(deep=False)
        return all(plain(value) == plain(theirs[name]) for name, value in self.get_params(deep=False).items())

    def __hash__(self) -> int:
        return hash((type(self).__name__, *(plain(value) for _, value in sorted(self.get_params(deep=False).items()))))

    # ------------------------------------------------------------------ for subclasses

    def _packed_layout(self) -> str:
        if self.layout is None:
            raise ValueError(f"{self!r} is not packed: it has no layout")
        return self.layout

    def _columns_match(self, array: Array, name: str) -> None:
        m = self.n_columns
        if m is not None and (array.ndim == 0 or array.shape[-1] != m):
            raise ValueError(f"{name} has shape {array.shape}; the code is made for {m} columns")

    def _codes(self, codes: npt.ArrayLike) -> Array:
        array = np.asarray(codes)
        if array.dtype.kind not in "ui":
            raise ValueError(f"codes has dtype {array.dtype}; codes are unsigned integers")
        if array.size:
            low, high = int(array.min()), int(array.max())
            if low < 0 or high >= self.n_levels:
                raise ValueError(f"codes run from {low} to {high}; this code has 0 to {self.n_levels - 1}")
        return array

    def _points(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Arguments of bias and variance: doubles, broadcast against the columns."""
        points = real_array(x, "x").astype(np.float64)
        m = self.n_columns
        if m is not None:
            points = np.array(np.broadcast_to(points, np.broadcast_shapes(points.shape, (m,))))
        return points
