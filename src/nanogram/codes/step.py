"""Step codes: thresholds and the level of each interval."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nanogram import ops

from ._arrays import FLOAT32_MAX, Array, by_blocks, choice, integer, positive_factor, real_array, refuse_nan
from ._json import float_list_from_json, floats_to_json, json_fields
from .base import Code

__all__ = ["StepCode"]

STORAGES = ("auto", "bits", "base3")
MOST_LEVELS = 16
MOST_INTERVALS = 4096


class StepCode(Code):
    r"""A step function: thresholds cut the line into intervals, each with a level.

    Interval ``i`` is ``thresholds[i-1] < t <= thresholds[i]``: a value on a threshold belongs to the
    interval below it, so the step function is ``1[t > 0]`` and the sign of 0 is the lower one.
    Values are compared with the thresholds in double. NaN is refused; infinities fall in the outer intervals.

    Levels may repeat and need not increase: the even code ``1[|t| > s]`` has thresholds ``(-s, s)`` and
    levels ``(b, a, b)``. What is stored is the index into the sorted distinct levels.

    Parameters
    ----------
    levels : {2, 3, 4} or array of shape (n_intervals,), default=3
        Level of each interval. A number asks for a code of that many levels, to be designed from the data
        by what uses it; until then it can name its layout but not encode.
    thresholds : array of shape (n_intervals - 1,), optional
        Increasing; needed when ``levels`` is an array.
    storage : {"auto", "bits", "base3"}, default="auto"
        ``"bits"`` (and ``"auto"``): 1 bit for two distinct levels, 2 bits for three or four, 4 bits for up
        to sixteen. ``"base3"``: five codes a byte, for three equally spaced levels.

    Notes
    -----
    Two, three and four distinct levels may be anywhere in storage of bits. More than four, and three in base 3,
    must be equally spaced (to the precision of float32), so that products need nothing but the codes themselves.

    Examples
    --------
    >>> from nanogram.codes import StepCode
    >>> code = StepCode(levels=[-1.5, 0.0, 1.5], thresholds=[-0.4, 0.4])
    >>> codes = code.encode([[-2.0, -0.4, 0.4, 0.41]])
    >>> codes
    array([[0, 0, 1, 2]], dtype=uint8)
    >>> code.decode(codes)
    array([[-1.5, -1.5,  0. ,  1.5]], dtype=float32)
    """

    kind: ClassVar[str] = "step"

    def __init__(
        self, levels: npt.ArrayLike = 3, thresholds: npt.ArrayLike | None = None, storage: str = "auto"
    ) -> None:
        self.levels = levels
        self.thresholds = thresholds
        self.storage = storage

    # ------------------------------------------------------------------ parameters, checked

    @property
    def designed(self) -> bool:
        """False while ``levels`` is a number, a request for a design."""
        return not isinstance(self.levels, numbers.Number)

    def _request(self) -> int:
        if self.thresholds is not None:
            raise ValueError(
                f"thresholds are given but levels={self.levels!r} is a number; give the level of each interval"
            )
        return integer(self.levels, "levels", (2, 3, 4))

    def _steps(self) -> tuple[Array, Array]:
        """Checked thresholds and levels."""
        if not self.designed:
            raise ValueError(
                f"{self!r} asks for {self._request()} levels that are not designed yet: "
                "fit what uses it, or give levels and thresholds as arrays"
            )
        levels = real_array(self.levels, "levels").astype(np.float64)
        if self.thresholds is None:
            raise ValueError(f"thresholds is None; {levels.size} levels need {max(levels.size - 1, 0)} thresholds")
        thresholds = real_array(self.thresholds, "thresholds").astype(np.float64)
        if levels.ndim != 1 or thresholds.ndim != 1 or len(levels) != len(thresholds) + 1:
            raise ValueError(
                f"levels has shape {levels.shape} and thresholds {thresholds.shape}; "
                "one level more than thresholds, both one-dimensional, is accepted"
            )
        if len(levels) > MOST_INTERVALS:
            raise ValueError(f"levels has {len(levels)} entries; at most {MOST_INTERVALS} are accepted")
        if not (np.abs(levels) <= FLOAT32_MAX).all():
            raise ValueError(f"levels={self.levels!r} is not accepted; finite float32 numbers are")
        if not np.isfinite(thresholds).all() or not (thresholds[1:] > thresholds[:-1]).all():
            raise ValueError(f"thresholds={self.thresholds!r} is not accepted; finite increasing numbers are")
        return thresholds, levels

    def _distinct(self) -> Array:
        """Sorted distinct levels: 2 to 16 of them, distinct as float32 too."""
        values = np.unique(self._steps()[1])
        if not 2 <= len(values) <= MOST_LEVELS:
            raise ValueError(f"levels has {len(values)} distinct values; 2 to {MOST_LEVELS} are accepted")
        if not (np.diff(values.astype(np.float32)) > 0).all():
            raise ValueError(
                f"levels={self.levels!r} holds values that are the same in float32; give equal or distinct ones"
            )
        return values

    def _decoder(self) -> tuple[Array, bool]:
        """Distinct values and whether they are equally spaced; refuses what no product can use."""
        values = self._distinct()
        line = _line(values)
        linear = bool((np.abs(line - values) <= 2.0**-23 * np.abs(values).max()).all())
        if not linear and len(values) > 4:
            raise ValueError(
                f"levels has {len(values)} distinct values, unequally spaced; "
                "2, 3 or 4 levels may have any spacing, more must be equally spaced"
            )
        if not linear and self._base3(len(values)):
            raise ValueError(
                f"levels={values.tolist()} in storage='base3' must be equally spaced; storage='bits' takes any"
            )
        return values, linear

    def _base3(self, n_levels: int) -> bool:
        base3 = choice(self.storage, "storage", STORAGES) == "base3"
        if base3 and n_levels != 3:
            raise ValueError(f"storage='base3' holds 3 levels; there are {n_levels}")
        return base3

    # ------------------------------------------------------------------ storage and decoder

    @property
    def n_levels(self) -> int:
        """Number of distinct levels."""
        return len(self._distinct()) if self.designed else self._request()

    @property
    def layout(self) -> str:
        """Layout of the stored codes."""
        count = self.n_levels
        if self._base3(count):
            return "t5"
        return "u1" if count == 2 else "u2" if count <= 4 else "u4"

    @property
    def scale(self) -> float:
        """Step of the linear decoder; 1 when there is a table."""
        values, linear = self._decoder()
        return float((values[-1] - values[0]) / (len(values) - 1)) if linear else 1.0

    @property
    def offset(self) -> float:
        """Middle of the levels; 0 when there is a table."""
        values, linear = self._decoder()
        return float(0.5 * values[0] + 0.5 * values[-1]) if linear else 0.0

    @property
    def zero2(self) -> int:
        """``n_levels - 1``; 0 when there is a table."""
        values, linear = self._decoder()
        return len(values) - 1 if linear else 0

    @property
    def table(self) -> npt.NDArray[np.float64] | None:
        """Values of codes 0 to 3 when three or four levels are unequally spaced."""
        values, linear = self._decoder()
        return None if linear else np.append(values, values[-1:])[:4]

    # ------------------------------------------------------------------ values and codes

    def encode(self, values: npt.ArrayLike, words: Any = None, random_state: Any = None) -> Array:
        """Codes of values: the index, among the sorted distinct levels, of the level of each value's interval.

        ``words`` and ``random_state`` are there for the contract and not used: nothing is random.
        """
        del words, random_state
        thresholds, levels = self._steps()
        distinct, _ = self._decoder()
        code_of_interval = np.searchsorted(distinct, levels).astype(np.uint8)

        def encoded(block: Array) -> Array:
            block = block.astype(np.float64)
            refuse_nan(block)
            return code_of_interval[np.searchsorted(thresholds, block, side="left")]

        return by_blocks(encoded, real_array(values, "values"), np.uint8)

    # ------------------------------------------------------------------ other codes and files

    def with_storage(self, storage: str) -> Self:
        """The same code in another storage."""
        code = type(self)(self.levels, self.thresholds, choice(storage, "storage", STORAGES))
        if self.designed:
            code._decoder()
        return code

    def convert(self, words: Array, shape: tuple[int, int], storage: str) -> tuple[Array, Self]:
        """The same codes in another storage: the words, and the code that reads them.

        Examples
        --------
        >>> import numpy as np
        >>> from nanogram.codes import StepCode
        >>> code = StepCode(levels=[-1, 0, 1], thresholds=[-0.5, 0.5])
        >>> words = code.pack(np.tile(np.array([[0, 2, 1]], dtype=np.uint8), (1, 20)))
        >>> smaller, code = code.convert(words, (1, 60), "base3")
        >>> words.nbytes, smaller.nbytes, code.bits
        (256, 192, 1.6)
        """
        code = self.with_storage(storage)
        return ops.convert(words, self.layout, code.layout, shape), code

    def scaled(self, factor: float) -> Self:
        """The code whose levels are ``factor`` times as large; thresholds stay."""
        thresholds, levels = self._steps()
        code = type(self)(levels * positive_factor(factor), thresholds, self.storage)
        code._decoder()
        return code

    def to_json(self) -> dict[str, Any]:
        """The code as plain JSON, levels and thresholds in hexadecimal."""
        if not self.designed:
            fields = {"levels": self._request(), "thresholds": None}
        else:
            thresholds, levels = self._steps()
            self._decoder()
            fields = {"levels": floats_to_json(levels), "thresholds": floats_to_json(thresholds)}
        return {"kind": self.kind, **fields, "storage": choice(self.storage, "storage", STORAGES)}

    @classmethod
    def _from_json(cls, fields: dict[str, Any]) -> Self:
        json_fields(fields, ("kind", "levels", "thresholds", "storage"))
        storage = choice(fields["storage"], "storage", STORAGES)
        if fields["thresholds"] is None:
            code = cls(integer(fields["levels"], "levels", (2, 3, 4)), None, storage)
            code._base3(code.n_levels)
            return code
        levels = float_list_from_json(fields["levels"], "levels", MOST_INTERVALS)
        code = cls(levels, float_list_from_json(fields["thresholds"], "thresholds", MOST_INTERVALS), storage)
        code._decoder()
        return code


def _line(values: Array) -> Array:
    """Equally spaced values between the first and the last."""
    q = np.arange(len(values), dtype=np.float64) - (len(values) - 1) / 2
    return np.asarray((values[-1] - values[0]) / (len(values) - 1) * q + (0.5 * values[0] + 0.5 * values[-1]))
