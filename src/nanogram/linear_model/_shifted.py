"""Systems ``(A + alpha I) x = B`` of one symmetric matrix, by factorisation or by eigenvectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from ._cholesky import cholesky_in_place
from ._design import mirrored

__all__ = ["Cholesky", "Eigen", "Singular", "warn_singular"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class Singular(np.linalg.LinAlgError):
    """``A + alpha I`` is singular to working precision."""


class Cholesky:
    """A new factorisation for each alpha, in the one array: A stays in the strict upper triangle (and a vector).

    ``k^3 / 3`` multiplications and additions an alpha. A is overwritten; float64 or float32.
    """

    def __init__(self, A: Array, *, strict: bool = True) -> None:
        # Not strict: a preconditioner may have rounding errors for digits, as long as it is positive.
        self.order, self._strict = len(A), strict
        # LAPACK sees columns: the transpose of a symmetric array in C order is the same matrix, nothing is copied.
        self._A = A.T if A.flags.c_contiguous else A
        self._diagonal = A.diagonal().copy()
        self.norm = 0.0
        for start in range(0, self.order, 1024):
            self.norm = max(self.norm, float(np.abs(A[start : start + 1024]).sum(axis=1).max(initial=0.0)))
        self._factored: float | None = None
        self._touched = False

    def factor(self, alpha: float) -> None:
        """Factorise ``A + alpha I``; raises `Singular` where rounding errors would be all that is solved for."""
        if self._factored == alpha:
            return
        if self._touched:
            mirrored(self._A)
        np.fill_diagonal(self._A, self._diagonal + self._A.dtype.type(alpha))
        self._touched, self._factored = True, None
        try:
            # Not LAPACK's own: it crashes on large matrices (_cholesky.py).
            cholesky_in_place(self._A)
        except linalg.LinAlgError:
            raise Singular from None
        if self._strict:
            (pocon,) = lapack.get_lapack_funcs(("pocon",), (self._A,))
            reciprocal, _ = pocon(self._A, self.norm + alpha, uplo="L")
            if reciprocal < self.order * np.finfo(self._A.dtype).eps:
                raise Singular
        self._factored = alpha

    def solve(self, alpha: float, B: Array) -> Array:
        """``(A + alpha I)^-1 B``: two triangular solves."""
        self.factor(alpha)
        (potrs,) = lapack.get_lapack_funcs(("potrs",), (self._A,))
        return np.asarray(potrs(self._A, B, lower=1)[0])

    def root(self, alpha: float) -> Array:
        """``L^-T``, R with ``R R^T = (A + alpha I)^-1``; nothing else may be called afterwards."""
        self.factor(alpha)
        (trtri,) = lapack.get_lapack_funcs(("trtri",), (self._A,))
        inverse, info = trtri(self._A, lower=1, overwrite_c=1)
        assert info == 0, "a Cholesky factor has no zero on its diagonal"
        for i in range(0, self.order, 512):
            inverse[i : i + 512] = np.tril(inverse[i : i + 512], i)
        return np.asarray(inverse.T)


class Eigen:
    """``A = U diag(l) U^T``; eigenvalues below ``cut |A|`` count as zeros, and alpha = 0 gives the minimum norm.

    About ``9 k^3`` operations and three arrays, once for all alphas; A is overwritten.
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
        """``(A + alpha I)^-1 B``: two products with U."""
        return np.asarray(self.vectors @ (self.weights(alpha)[:, None] * (self.vectors.T @ B)))


def warn_singular(alpha: Any, eigen: Eigen, stacklevel: int = 2) -> None:
    """Say that the minimum-norm solution stands in for one that is not determined."""
    warnings.warn(
        f"the system is singular to working precision (rank {eigen.rank} of {eigen.order}) and alpha={alpha} does not "
        "change that: the coefficients of least norm among the best are given; a larger alpha determines them",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )
