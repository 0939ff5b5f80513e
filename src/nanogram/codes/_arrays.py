"""Checks of arguments and work in blocks, shared by the codes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Temporaries of encode and decode stay near this many elements.
BLOCK = 1 << 18
FLOAT32_MAX = float(np.finfo(np.float32).max)


def real_array(values: npt.ArrayLike, name: str) -> Array:
    """Return a real numeric array, or a ValueError that names it."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {array.dtype}; real numbers are accepted")
    return array


def refuse_nan(values: Array) -> None:
    """ValueError that names the first column of ``values`` (rows, columns) with a NaN."""
    missing = np.isnan(values)
    if missing.any():
        column = int(np.flatnonzero(missing.any(axis=0))[0])
        raise ValueError(f"values has NaN in column {column}; numbers and infinities are accepted")


def integer(value: Any, name: str, accepted: tuple[int, ...]) -> int:
    """An integer parameter out of a short list."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) not in accepted:
        raise ValueError(f"{name}={value!r} is not accepted; choose one of {', '.join(map(str, accepted))}")
    return int(value)


def choice(value: Any, name: str, accepted: tuple[str, ...]) -> str:
    """A string parameter out of a short list."""
    if not isinstance(value, str) or value not in accepted:
        raise ValueError(f"{name}={value!r} is not accepted; choose one of {', '.join(map(repr, accepted))}")
    return value


def positive_factor(factor: Any) -> float:
    """The argument of `Code.scaled`."""
    if isinstance(factor, bool) or not isinstance(factor, numbers.Real) or not 0 < float(factor) < math.inf:
        raise ValueError(f"factor={factor!r} is not accepted; a finite number above 0 is")
    return float(factor)


def plain(value: Any) -> Any:
    """A parameter as something that compares and hashes by value."""
    if value is None or isinstance(value, str):
        return value
    array = np.asarray(value, dtype=np.float64) + 0.0
    return array.shape, array.tobytes()


def by_blocks(function: Callable[..., Array], first: Array, dtype: npt.DTypeLike, *others: Array) -> Array:
    """Apply an elementwise function to blocks of rows, so that its temporaries stay small."""
    out = np.empty(first.shape, dtype=dtype)
    if out.size == 0:
        return out
    width = first.shape[-1] if first.ndim else 1
    matrices = [array.reshape(-1, width) for array in (first, *others)]
    target = out.reshape(-1, width)
    step = max(1, BLOCK // width)
    for start in range(0, len(target), step):
        target[start : start + step] = function(*(matrix[start : start + step] for matrix in matrices))
    return out
