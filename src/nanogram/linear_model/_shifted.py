"""Systems ``(A + alpha I) x = B`` of one symmetric matrix, for one or several alphas."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from ._cholesky import cholesky_in_place

__all__ = ["Cholesky", "Eigen", "Shifted", "Singular", "mirror", "warn_singular"]

Float64 = npt.NDArray[np.float64]


class Singular(np.linalg.LinAlgError):
    """``A + alpha I`` is singular to working precision."""


class Shifted(ABC):
    """``A + alpha I`` for a positive semidefinite A of order k, which is overwritten."""

    order: int

    @abstractmethod
    def solve(self, alpha: float, B: Float64) -> Float64:
        """``(A + alpha I)^-1 B``; raises `Singular` rather than return rounding errors."""

    @abstractmethod
    def trace_inverse(self, alpha: float) -> float:
        """``tr (A + alpha I)^-1``."""

    @abstractmethod
    def root(self, alpha: float) -> Float64:
        """A matrix R with ``R R^T = (A + alpha I)^-1``; nothing else may be called afterwards."""


def mirror(A: Float64, *, lower_to_upper: bool) -> None:
    """Copy one triangle of a square array over the other, in place."""
    k, step = len(A), 512
    for i in range(0, k, step):
        rows = slice(i, i + step)
        for j in range(0, i, step):
            columns = slice(j, j + step)
            if lower_to_upper:
                A[columns, rows] = A[rows, columns].T
            else:
                A[rows, columns] = A[columns, rows].T
        block = A[rows, rows]
        part = np.tril(block, -1) if lower_to_upper else np.triu(block, 1)
        A[rows, rows] = part + part.T + np.diag(np.diag(block))


class Cholesky(Shifted):
    """A new factorisation for each alpha, in the one array: A stays in the strict upper triangle (and a vector).

    ``k^3 / 3`` multiplications and additions an alpha, as many again for the trace.
    """

    def __init__(self, A: Float64) -> None:
        self.order = len(A)
        # LAPACK sees columns: the transpose of a symmetric array in C order is the same matrix, nothing is copied.
        self._A = A.T if A.flags.c_contiguous else A
        self._diagonal = A.diagonal().copy()
        self._norm = 0.0
        for start in range(0, self.order, 1024):
            self._norm = max(self._norm, float(np.abs(A[start : start + 1024]).sum(axis=1).max(initial=0.0)))
        self._factored: float | None = None
        self._touched = False

    def _factor(self, alpha: float) -> None:
        if self._factored == alpha:
            return
        if self._touched:
            mirror(self._A, lower_to_upper=False)
        np.fill_diagonal(self._A, self._diagonal + alpha)
        self._touched, self._factored = True, None
        try:
            # Not LAPACK's own: it crashes on large matrices (_cholesky.py).
            cholesky_in_place(self._A)
        except linalg.LinAlgError:
            raise Singular from None
        reciprocal, _ = lapack.dpocon(self._A, self._norm + alpha, uplo="L")
        if reciprocal < self.order * np.finfo(np.float64).eps:
            raise Singular
        self._factored = alpha

    def solve(self, alpha: float, B: Float64) -> Float64:
        """Two triangular solves."""
        self._factor(alpha)
        return np.asarray(lapack.dpotrs(self._A, B, lower=1)[0])

    def trace_inverse(self, alpha: float) -> float:
        """``|L^-1|_F^2``; the factor is lost."""
        self._factor(alpha)
        inverse = self._inverse()
        return float(sum(np.square(np.tril(inverse[i : i + 512], i)).sum() for i in range(0, self.order, 512)))

    def _inverse(self) -> Float64:
        inverse, info = lapack.dtrtri(self._A, lower=1, overwrite_c=1)
        assert info == 0, "a Cholesky factor has no zero on its diagonal"
        self._factored = None
        return np.asarray(inverse)

    def root(self, alpha: float) -> Float64:
        """``L^-T``."""
        self._factor(alpha)
        inverse = self._inverse()
        for i in range(0, self.order, 512):
            inverse[i : i + 512] = np.tril(inverse[i : i + 512], i)
        return inverse.T


class Eigen(Shifted):
    """``A = U diag(l) U^T``; eigenvalues below ``cut |A|`` count as zeros, and alpha = 0 gives the minimum norm.

    About ``9 k^3`` operations and three arrays, once for all alphas.
    """

    def __init__(self, A: Float64, cut: float | None = None) -> None:
        self.order = len(A)
        # The transpose: in Fortran order, so that it is overwritten and not copied.
        values, self.vectors = linalg.eigh(A.T, overwrite_a=True, check_finite=False, driver="evd")
        largest = float(np.abs(values).max(initial=0.0))
        cut = 10 * self.order * np.finfo(np.float64).eps if cut is None else cut
        self.values = np.where(values <= cut * largest, 0.0, values)
        self.rank = int(np.count_nonzero(self.values))

    def weights(self, alpha: float) -> Float64:
        """``1 / (l + alpha)``, 0 in the null space of A where alpha is below rounding errors."""
        floor = self.order * np.finfo(np.float64).eps * float(self.values.max(initial=0.0))
        kept = self.values > 0 if alpha <= floor else np.ones(self.order, dtype=bool)
        return np.divide(1.0, self.values + alpha, out=np.zeros(self.order), where=kept & (self.values + alpha > 0))

    def solve(self, alpha: float, B: Float64) -> Float64:
        """Two products with U."""
        return np.asarray(self.vectors @ (self.weights(alpha)[:, None] * (self.vectors.T @ B)))

    def trace_inverse(self, alpha: float) -> float:
        """The sum of the weights."""
        return float(self.weights(alpha).sum())

    def root(self, alpha: float) -> Float64:
        """``U diag(l + alpha)^-1/2``."""
        self.vectors *= np.sqrt(self.weights(alpha))
        return np.asarray(self.vectors)

    def inverse_diagonal(self, alpha: float) -> Float64:
        """Diagonal of ``(A + alpha I)^-1``."""
        return np.asarray(np.square(self.vectors) @ self.weights(alpha))


def warn_singular(alpha: Any, eigen: Eigen, stacklevel: int = 2) -> None:
    """Say that the minimum-norm solution stands in for one that is not determined."""
    warnings.warn(
        f"the system is singular to working precision (rank {eigen.rank} of {eigen.order}) and alpha={alpha} does not "
        "change that: the coefficients of least norm among the best are given; a larger alpha determines them",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )
