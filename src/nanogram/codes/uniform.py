"""Equally spaced levels, with stochastic or nearest rounding (LP section 4.1)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ._arrays import FLOAT32_MAX, Array, by_blocks, choice, integer, positive_factor, real_array, refuse_nan
from ._json import float_from_json, float_list_from_json, floats_to_json, json_fields
from .base import Code

__all__ = ["UniformCode"]

BITS = (1, 2, 4, 8, 16)
ROUNDINGS = ("stochastic", "nearest")
#: The word that makes stochastic rounding round to nearest, halves down.
NEAREST_WORD = 1 << 31


class UniformCode(Code):
    r"""``2^b`` equally spaced levels over a range.

    With ``r = (high - low) / (2^b - 1)`` the levels are ``low + r q``, ``q = 0 .. 2^b - 1``. The rule
    of encoding, in IEEE double, which every backend repeats to the bit:

        t = (v - low) / r
        q = floor(t),  f = t - q                   (exact)
        q + 1 is stored when word < f 2^32         (exact), q otherwise

    with ``word`` a random 32-bit integer. Values outside the range, infinite ones too, saturate.
    Nearest rounding is the same rule with every word ``2^31`` (so halves go down). Stochastic rounding is
    unbiased inside the range: ``E = v`` (to ``r 2^-32``), variance ``r^2 f (1 - f) <= r^2 / 4``;
    with the range ``+-sqrt(2/m)`` of LP that is ``delta_b^2 / m``, ``delta_b^2 = 2 / (2^b - 1)^2``.
    Nearest rounding is biased.

    Parameters
    ----------
    bits : {1, 2, 4, 8, 16}, default=4
        Bits of a code.
    rounding : {"stochastic", "nearest"}, default="stochastic"
        How values between two levels are rounded.
    low, high : float or array of shape (m,), default=-1.0, 1.0
        The range, one for all columns or one a column.

    Examples
    --------
    >>> from nanogram.codes import UniformCode
    >>> code = UniformCode(bits=2, rounding="nearest")
    >>> codes = code.encode([[-1.0, -0.3, 0.2, 5.0]])
    >>> codes
    array([[0, 1, 2, 3]], dtype=uint8)
    >>> code.decode(codes)
    array([[-1.        , -0.33333334,  0.33333334,  1.        ]],
          dtype=float32)
    """

    kind: ClassVar[str] = "uniform"
    # A parameter here; the class attribute stands in front of the contract's read-only property.
    bits: int = 4

    def __init__(
        self,
        bits: int = 4,
        rounding: str = "stochastic",
        low: npt.ArrayLike = -1.0,
        high: npt.ArrayLike = 1.0,
    ) -> None:
        self.bits = bits
        self.rounding = rounding
        self.low = low
        self.high = high

    # ------------------------------------------------------------------ storage and decoder

    @property
    def layout(self) -> str:
        """Layout of that many bits."""
        return f"u{integer(self.bits, 'bits', BITS)}"

    @property
    def n_columns(self) -> int | None:
        """Columns of a range by column."""
        low, _ = self._range()
        return len(low) if np.ndim(low) else None

    @property
    def n_levels(self) -> int:
        """``2^b``."""
        return 1 << integer(self.bits, "bits", BITS)

    @property
    def scale(self) -> Any:
        """``r``, the distance of two levels."""
        return self._range()[1]

    @property
    def offset(self) -> Any:
        """Middle of the range."""
        low, _ = self._range()
        middle = 0.5 * low + 0.5 * np.asarray(self.high, dtype=np.float64)
        return middle if np.ndim(middle) else float(middle)

    @property
    def levels(self) -> npt.NDArray[np.float64]:
        """The levels: (2^b,), or (2^b, m) for a range by column."""
        return self.code_values

    @property
    def delta_b_squared(self) -> float:
        """LP's ``delta_b^2 = 2 / (2^b - 1)^2``: the largest variance for the range +-sqrt(2)."""
        return 2.0 / (self.n_levels - 1) ** 2

    def _range(self) -> tuple[Any, Any]:
        """Checked low and r, both floats or both arrays of one shape."""
        ends = []
        for name in ("low", "high"):
            end = real_array(getattr(self, name), name).astype(np.float64)
            if end.ndim > 1:
                raise ValueError(
                    f"{name} has shape {end.shape}; a number or an array with one number a column is accepted"
                )
            if not (np.abs(end) <= FLOAT32_MAX).all():
                raise ValueError(f"{name}={getattr(self, name)!r} is not accepted; finite float32 numbers are")
            ends.append(end)
        if ends[0].ndim == ends[1].ndim and ends[0].shape != ends[1].shape:
            raise ValueError(f"low has shape {ends[0].shape} and high {ends[1].shape}; one shape is accepted")
        low, high = np.broadcast_arrays(*ends)
        with np.errstate(under="ignore"):
            step = (high - low) / (self.n_levels - 1)
        narrow = np.flatnonzero(~(step >= np.finfo(np.float64).tiny))
        if narrow.size:
            where = f" in column {narrow[0]}" if low.ndim else ""
            raise ValueError(
                f"low={low.flat[narrow[0]]} and high={high.flat[narrow[0]]}{where}: "
                f"low must be below high (give a constant column some width, such as high = low + 1)"
            )
        return (low, step) if low.ndim else (float(low), float(step))

    # ------------------------------------------------------------------ encoding

    def encode(self, values: npt.ArrayLike, words: Any = None, random_state: Any = None) -> Array:
        """Codes of values.

        Parameters
        ----------
        values : array, last axis over columns
            Real numbers; NaN is refused.
        words : array of uint32, same shape, optional
            Random words for stochastic rounding.
        random_state : None, int, numpy Generator or RandomState, optional
            Where the words come from when none are given.

        Returns
        -------
        codes : array of uint8 (uint16 for 16 bits), same shape
        """
        array = real_array(values, "values")
        self._columns_match(array, "values")
        stochastic = choice(self.rounding, "rounding", ROUNDINGS) == "stochastic"
        low, step = self._range()
        top = float(self.n_levels - 1)
        dtype = self.code_dtype

        def encoded(block: Array, noise: Any) -> Array:
            block = block.astype(np.float64)
            refuse_nan(block)
            with np.errstate(over="ignore"):
                t = np.clip((block - low) / step, 0.0, top)
            q = np.floor(t)
            q += noise < (t - q) * 4294967296.0
            return np.asarray(q.astype(dtype))

        if not stochastic:
            return by_blocks(lambda block: encoded(block, NEAREST_WORD), array, dtype)
        if words is None:
            draw = _words_from(random_state)
            return by_blocks(lambda block: encoded(block, draw(block.shape)), array, dtype)
        words = np.asarray(words)
        if words.dtype != np.uint32 or words.shape != array.shape:
            raise ValueError(
                f"words is {words.dtype} of shape {words.shape}; uint32 of shape {array.shape} is accepted"
            )
        return by_blocks(encoded, array, dtype, words)

    # ------------------------------------------------------------------ error

    def bias(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """``E[decode(encode(x))] - x``: 0 inside the range when stochastic, the rounding error when nearest.

        Outside the range it is the distance to the range.
        """
        if choice(self.rounding, "rounding", ROUNDINGS) == "nearest":
            return super().bias(x)
        x = self._points(x)
        low, _ = self._range()
        return np.asarray(np.clip(x, low, np.asarray(self.high, dtype=np.float64)) - x)

    def variance(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """``r^2 f (1 - f)``, f the place of x between its two levels; 0 outside the range and for nearest."""
        x = self._points(x)
        if choice(self.rounding, "rounding", ROUNDINGS) == "nearest":
            return np.zeros(x.shape)
        low, step = self._range()
        t = np.clip((x - low) / step, 0.0, float(self.n_levels - 1))
        f = t - np.floor(t)
        return np.asarray(step * step * f * (1.0 - f), dtype=np.float64)

    @property
    def max_variance(self) -> Any:
        """``r^2 / 4`` (by column when the range is), 0 for nearest rounding."""
        step = self.scale
        return step * step / 4.0 if choice(self.rounding, "rounding", ROUNDINGS) == "stochastic" else 0.0 * step

    # ------------------------------------------------------------------ other codes and files

    def select_columns(self, index: Any) -> Self:
        """The code of some of the columns; the same object when the range is one for all."""
        m = self.n_columns
        if m is None:
            return self
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (m,)) for end in (self.low, self.high))
        picked = np.arange(m)[index]
        if picked.ndim != 1:
            raise ValueError(f"index={index!r} is not accepted; a slice or a one-dimensional array is")
        return type(self)(self.bits, self.rounding, low[picked].copy(), high[picked].copy())

    def scaled(self, factor: float) -> Self:
        """The code of the range times ``factor``."""
        factor = positive_factor(factor)
        low, high = (np.asarray(end, dtype=np.float64) * factor for end in (self.low, self.high))
        code = type(self)(self.bits, self.rounding, *(end if end.ndim else float(end) for end in (low, high)))
        code._range()
        return code

    def to_json(self) -> dict[str, Any]:
        """The code as plain JSON, the range in hexadecimal."""
        self._range()
        choice(self.rounding, "rounding", ROUNDINGS)
        return {
            "kind": self.kind,
            "bits": int(self.bits),
            "rounding": self.rounding,
            "low": floats_to_json(self.low),
            "high": floats_to_json(self.high),
        }

    @classmethod
    def _from_json(cls, fields: dict[str, Any]) -> Self:
        json_fields(fields, ("kind", "bits", "rounding", "low", "high"))
        ends = [
            float_list_from_json(fields[name], name)
            if isinstance(fields[name], list)
            else float_from_json(fields[name], name)
            for name in ("low", "high")
        ]
        bits = integer(fields["bits"], "bits", BITS)
        code = cls(bits, choice(fields["rounding"], "rounding", ROUNDINGS), *ends)
        code._range()
        return code


def _words_from(random_state: Any) -> Any:
    """A function from a shape to random words."""
    if isinstance(random_state, np.random.RandomState):
        return lambda shape: random_state.randint(0, 1 << 32, size=shape, dtype=np.uint32)
    generator = np.random.default_rng(random_state)
    return lambda shape: generator.integers(0, 1 << 32, size=shape, dtype=np.uint32)
