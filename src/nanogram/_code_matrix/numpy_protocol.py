"""What NumPy's functions and operators do with codes: stack them, multiply them, or refuse and say why.

NumPy turns what it does not know into an array. Of codes that would be an array many times as large,
made without a word by any estimator, so each way in is closed and names `toarray`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np


def _refusal(what: str) -> TypeError:
    return TypeError(
        f"{what} would decode a code matrix into an array many times its size; call .toarray() if that is meant"
    )


class CodesProtocol:
    """NumPy's protocols for `CodeMatrix` and its transpose."""

    __slots__ = ()

    def __matmul__(self, other: Any) -> Any:
        return NotImplemented

    def __array__(self, *args: Any, **keywords: Any) -> NoReturn:
        raise _refusal("turning it into a NumPy array")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and len(inputs) == 2 and not keywords:
            left, right = inputs
            return left @ right if isinstance(left, CodesProtocol) else right.__rmatmul__(left)
        raise _refusal(f"numpy.{ufunc.__name__}")

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, keywords: Any) -> Any:
        handler = HANDLERS.get(function)
        if handler is None:
            raise _refusal(f"numpy.{function.__name__}")
        return handler(*args, **keywords)


def _shape(a: Any) -> tuple[int, int]:
    shape: tuple[int, int] = a.shape
    return shape


def _ndim(a: Any) -> int:
    return int(a.ndim)


def _size(a: Any, axis: int | None = None) -> int:
    return int(a.shape[0] * a.shape[1] if axis is None else a.shape[axis])


#: NumPy functions with a meaning for codes; `stacking` adds its own.
HANDLERS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
}
