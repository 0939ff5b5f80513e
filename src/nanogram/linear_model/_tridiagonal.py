r"""All shifts of one symmetric matrix for the price of one tridiagonal form, in the matrix's own memory.

    A = Q T Q^T,    (A + alpha I)^-1 B = Q (T + alpha I)^-1 Q^T B,    tr (A + alpha I)^-1 = sum_j 1 / (t_j + alpha)

T is tridiagonal with the eigenvalues t_j; Q is a product of reflections, kept where A was. The form costs ``4/3 k^3``
multiplications and additions, four Cholesky factorisations' worth, and every alpha after that k operations a target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack, solveh_banded

__all__ = ["Tridiagonal"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class Tridiagonal:
    """``Q T Q^T`` of a positive semidefinite matrix of float64 or float32, which is overwritten."""

    def __init__(self, A: Array) -> None:
        self.order = k = len(A)
        A = A.T if A.flags.c_contiguous else A
        sytrd, query = lapack.get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
        size = int(query(k, lower=1)[0])
        held, diagonal, beside, self._tau, info = sytrd(A, lower=1, lwork=size, overwrite_a=1)
        assert info == 0, "LAPACK accepts the arguments"
        self.diagonal, self.beside = diagonal.astype(np.float64), beside.astype(np.float64)
        # Reflection j acts on rows j + 1 and on, its vector below the diagonal of column j. From the second entry on
        # the array, read with the same stride, is what LAPACK has of a QR factorisation of order k - 1.
        self._reflections = held.ravel(order="K")[1 : 1 + k * (k - 1)].reshape((k, k - 1), order="F")
        values = eigvalsh_tridiagonal(self.diagonal, self.beside) if k > 1 else self.diagonal
        largest = float(np.abs(values).max(initial=0.0))
        #: Shifts below this drown in the rounding of the form.
        self.floor = 10 * float(np.finfo(A.dtype).eps) * largest
        self.values = np.maximum(values, 0.0)

    def _reflect(self, B: Array, side: str) -> Float64:
        if self.order < 2:
            return np.asarray(B, dtype=np.float64)
        (ormqr,) = lapack.get_lapack_funcs(("ormqr",), (self._reflections,))
        rest = np.array(B[1:], dtype=self._reflections.dtype, order="F")
        size = max(1, int(ormqr("L", side, self._reflections, self._tau, rest, -1)[1][0]))
        turned, _, info = ormqr("L", side, self._reflections, self._tau, rest, size, overwrite_c=1)
        assert info == 0, "LAPACK accepts the arguments"
        return np.vstack([np.asarray(B[:1], dtype=np.float64), turned])

    def rotated(self, B: Float64) -> Float64:
        """``Q^T B``."""
        return self._reflect(B, "T")

    def back(self, X: Float64) -> Float64:
        """``Q X``."""
        return self._reflect(X, "N")

    def solve_rotated(self, alpha: float, rotated: Float64) -> Float64:
        """``(T + alpha I)^-1 rotated``; an alpha that drowns in rounding is raised to where it does not."""
        shift = max(alpha, self.floor)
        if self.order < 2:
            return np.asarray(rotated / np.maximum(self.diagonal + shift, np.finfo(np.float64).tiny)[:, None])
        while True:
            bands = np.vstack([self.diagonal + shift, np.append(self.beside, 0.0)])
            try:
                return np.asarray(solveh_banded(bands, rotated, lower=True, check_finite=False))
            except LinAlgError:
                shift = max(10 * shift, np.finfo(np.float64).tiny)

    def solve(self, alpha: float, B: Float64) -> Float64:
        """``(A + alpha I)^-1 B``."""
        return self.back(self.solve_rotated(alpha, self.rotated(B)))

    def trace_inverse(self, alpha: float) -> float:
        """``tr (A + alpha I)^-1``."""
        return float((1.0 / (self.values + max(alpha, self.floor, np.finfo(np.float64).tiny))).sum())
