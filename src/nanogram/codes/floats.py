"""No code: values kept as float32 or float16."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ._arrays import Array, choice, positive_factor, real_array
from ._json import json_fields
from .base import Code

__all__ = ["FloatCode"]


class FloatCode(Code):
    """Values stored as they are, in 32 or 16 bits.

    Parameters
    ----------
    storage : {"float32", "float16"}, default="float32"
        Type of the stored values. Decoded values are float32 either way.

    Examples
    --------
    >>> from nanogram.codes import FloatCode
    >>> FloatCode("float16").encode([[0.1, 70000.0]])
    array([[0.1, inf]], dtype=float16)
    """

    kind: ClassVar[str] = "float"

    def __init__(self, storage: str = "float32") -> None:
        self.storage = storage

    @property
    def layout(self) -> None:
        """None: floats are not packed."""
        return

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """Type of stored values."""
        return np.dtype(choice(self.storage, "storage", ("float32", "float16")))

    @property
    def bits(self) -> float:
        """Stored bits a value."""
        return 8.0 * self.code_dtype.itemsize

    @property
    def n_levels(self) -> int:
        """Bit patterns of the stored type."""
        return 1 << int(self.bits)

    @property
    def zero2(self) -> int:
        """0: the stored value is the value."""
        return 0

    @property
    def scale(self) -> float:
        """1: the stored value is the value."""
        return 1.0

    @property
    def offset(self) -> float:
        """0: the stored value is the value."""
        return 0.0

    @property
    def code_values(self) -> npt.NDArray[np.float64]:
        """Not to be had: floats have no list of levels."""
        raise ValueError(f"{self!r} has no list of levels: it stores floats")

    levels = code_values

    def bias(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Error of rounding ``x`` to the stored type."""
        x = self._points(x)
        with np.errstate(over="ignore"):
            return x.astype(self.code_dtype).astype(np.float64) - x

    def encode(self, values: npt.ArrayLike, words: Any = None, random_state: Any = None) -> Array:
        """The values in the stored type, NaN included; beyond its range they become infinite, as NumPy's do."""
        del words, random_state
        with np.errstate(over="ignore"):
            return real_array(values, "values").astype(self.code_dtype)

    def decode(self, codes: npt.ArrayLike, columns: Any = None) -> npt.NDArray[np.float32]:
        """Stored values as float32."""
        del columns
        return np.asarray(codes).astype(np.float32, copy=False)

    def pack(self, codes: npt.ArrayLike) -> Array:
        """A matrix of stored values, contiguous: the storage of floats is the array itself."""
        array = np.asarray(codes)
        if array.ndim != 2 or array.dtype != self.code_dtype:
            raise ValueError(f"codes is {array.dtype} of shape {array.shape}; a {self.code_dtype} matrix is accepted")
        return np.ascontiguousarray(array)

    def unpack(self, words: Array, shape: tuple[int, int]) -> Array:
        """The stored values themselves."""
        if words.shape != tuple(shape) or words.dtype != self.code_dtype:
            raise ValueError(
                f"words is {words.dtype} of shape {words.shape}; expected {self.code_dtype} of shape {tuple(shape)}"
            )
        return words

    def scaled(self, factor: float) -> Self:
        """Only by 1: floats carry no scale."""
        if positive_factor(factor) != 1.0:
            raise ValueError(f"factor={factor!r}: float storage carries no scale; multiply the values themselves")
        return self

    def to_json(self) -> dict[str, Any]:
        """The code as plain JSON."""
        return {"kind": self.kind, "storage": self.code_dtype.name}

    @classmethod
    def _from_json(cls, fields: dict[str, Any]) -> Self:
        json_fields(fields, ("kind", "storage"))
        return cls(choice(fields["storage"], "storage", ("float32", "float16")))
