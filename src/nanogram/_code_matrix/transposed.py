"""``Z.T``: a view with products of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from .numpy_protocol import CodesProtocol
from .products import product

if TYPE_CHECKING:
    from nanogram.code_matrix import CodeMatrix

Array = npt.NDArray[Any]


class TransposedCodeMatrix(CodesProtocol):
    """The transpose of a `CodeMatrix`: shape, products, nothing stored.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.code_matrix import CodeMatrix
    >>> from nanogram.codes import UniformCode
    >>> Z = CodeMatrix.from_codes(np.array([[0, 1], [1, 1], [0, 0]]), UniformCode(1))
    >>> Z.T.shape, Z.T @ np.ones(3)
    ((2, 3), array([-1.,  1.]))
    """

    __slots__ = ("_base",)

    def __init__(self, base: CodeMatrix) -> None:
        self._base = base

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._base,)

    @property
    def T(self) -> CodeMatrix:  # noqa: N802 - NumPy's name
        """The matrix itself."""
        return self._base

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of the matrix."""
        return self._base.shape[::-1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of decoded values."""
        return self._base.dtype

    ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    def __matmul__(self, other: Any) -> Array:
        if other is self._base:
            gram: Array = self._base.gram()
            return gram
        return product(self._base, refuse_codes(other), transpose=True)

    def __rmatmul__(self, other: Any) -> Array:
        return product(self._base, np.asarray(other).T, transpose=False).T

    def matvec(self, v: npt.ArrayLike, precision: str | None = None) -> Array:
        """``Z.T @ v``."""
        return product(self._base, v, transpose=True, precision=precision)

    def rmatvec(self, r: npt.ArrayLike, precision: str | None = None) -> Array:
        """``Z @ r``."""
        return product(self._base, r, transpose=False, precision=precision)

    def toarray(self, dtype: npt.DTypeLike | None = None) -> Array:
        """The decoded values."""
        decoded: Array = self._base.toarray(dtype=dtype).T
        return decoded

    def __getitem__(self, key: Any) -> NoReturn:
        raise TypeError("rows of Z.T are columns of Z: write Z[:, columns].T")

    def __repr__(self) -> str:
        return f"{self._base!r}.T"


def refuse_codes(other: Any) -> Any:
    """The right-hand side, unless it is codes itself."""
    if isinstance(other, CodesProtocol):
        raise TypeError(
            "products of codes with codes are Z.T @ Z (Z.gram()), Z @ Z.T (Z.kernel()) and Z @ Y.T (Z.kernel(Y)); "
            "for others pass .toarray() of one of them"
        )
    return other
