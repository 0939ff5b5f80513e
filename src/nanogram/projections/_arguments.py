"""What the generator's methods accept, checked and brought to one form."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Indices", "checked_float_dtype", "checked_indices", "checked_integer"]

#: A count ``n`` (meaning ``range(n)``), a range, or an array of non-negative integers.
Indices: TypeAlias = SupportsIndex | range | npt.ArrayLike


def checked_integer(name: str, value: Any, low: int, high: int) -> int:
    """Value as a Python integer with ``low <= value < high``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} must be an integer") from None
    if isinstance(value, bool | np.bool_) or not low <= number < high:
        raise ValueError(f"{name}={value!r} must be an integer from {low} to {high - 1}")
    return number


def checked_indices(name: str, indices: Indices, end: int) -> tuple[int, int, npt.NDArray[np.uint64] | None]:
    """First index, count, and the indices themselves where they are not consecutive."""
    if isinstance(indices, range) and indices.step == 1:
        first, count = indices.start, len(indices)
    elif (array := np.asarray(indices)).ndim == 0:
        first, count = 0, checked_integer(name, indices, 0, end + 1)
    elif array.shape == (0,):
        return 0, 0, None
    else:
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                f"{name} has dtype {array.dtype} and shape {array.shape}; "
                "a count, a range or a 1-D array of integers is accepted"
            )
        first, last = int(array.min()), int(array.max())
        if first < 0 or last >= end:
            raise ValueError(f"{name} runs from {first} to {last}; 0 to {end - 1} is accepted")
        array = np.ascontiguousarray(array, dtype=np.uint64)
        if last - first == len(array) - 1 and array[0] == first and bool(np.all(array[1:] - array[:-1] == 1)):
            return first, len(array), None
        return 0, len(array), array
    if count and (first < 0 or first + count > end):
        raise ValueError(f"{name} runs from {first} to {first + count - 1}; 0 to {end - 1} is accepted")
    return first if count else 0, count, None


def checked_float_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    checked = np.dtype(dtype)
    if checked not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} is not supported; choose float32 or float64")
    return checked
