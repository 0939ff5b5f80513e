"""Ridge regression as one shifted symmetric system, of the features or of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram._code_matrix.blocks import row_ranges

from ._design import Design

__all__ = ["Dual", "LeastSquares", "Primal"]

Float64 = npt.NDArray[np.float64]


class LeastSquares(ABC):
    r"""``min_w sum_i s_i (y_i - w.z_i - b)^2 + alpha |w|^2`` for several targets, as ``(A + alpha I) x = B``.

    With the intercept, rows and targets are taken less their means under the weights s, implicitly.
    Subclasses say what A and B are; both give, from x, the coefficients and

        tr H = k - alpha tr (A + alpha I)^-1  (+ 1 for the intercept),   H y = fitted values, k the order of A.

    Parameters
    ----------
    design : Design
    Y : array of shape (n, t)
    weights : array of shape (n,) or None
    fit_intercept : bool

    Attributes
    ----------
    means, target_means : arrays of shape (m,), (t,)
        Zeros without an intercept.
    centred : array of shape (n, t)
        Targets less their means.
    n_counted : int
        Rows whose weight is not zero.
    squares : array of shape (t,)
        ``sum_i s_i y_i^2`` of the centred targets.
    """

    #: Order of A.
    order: int

    def __init__(self, design: Design, Y: Float64, weights: Float64 | None, fit_intercept: bool) -> None:
        self.design, self.weights, self.fit_intercept = design, weights, fit_intercept
        n, m = design.shape
        self.n_counted = n if weights is None else int(np.count_nonzero(weights))
        self.total = float(n) if weights is None else float(weights.sum())
        if fit_intercept:
            sums = design.column_sums() if weights is None else design.precise_rmatvec(weights)
            self.means = sums / self.total
            self.target_means = np.average(Y, axis=0, weights=weights)
        else:
            self.means, self.target_means = np.zeros(m), np.zeros(Y.shape[1])
        self.centred = Y - self.target_means
        self.squares = np.asarray((self._weighted(self.centred) * self.centred).sum(axis=0))

    def _weighted(self, R: Float64) -> Float64:
        return R if self.weights is None else R * self.weights[:, None]

    @abstractmethod
    def matrix(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """A, as a new array of float64 or float32."""

    @abstractmethod
    def right_hand_side(self) -> Float64:
        """B, (order, t)."""

    @abstractmethod
    def coefficients(self, x: Float64) -> Float64:
        """Coefficients w from x, (m, t)."""

    @abstractmethod
    def weighted_residuals(self, alpha: Float64, x: Float64, B: Float64) -> Float64:
        """``sum_i s_i e_i^2`` a target, from x alone."""

    def intercepts(self, coefficients: Float64) -> Float64:
        """Intercept b of each target."""
        return np.asarray(self.target_means - self.means @ coefficients)

    def residuals(self, coefficients: Float64) -> Float64:
        """``y - w.z - b``, (n, t)."""
        return self.centred - (self.design.precise_matvec(coefficients) - self.means @ coefficients)

    def penalised(self, alpha: Float64, x: Float64, B: Float64) -> Float64:
        """The least value of the objective: residuals and ``alpha |w|^2``."""
        return np.asarray(np.maximum(self._objective(alpha, x, B), 0.0))

    @abstractmethod
    def _objective(self, alpha: Float64, x: Float64, B: Float64) -> Float64: ...


class Primal(LeastSquares):
    """``A = Z^T S Z`` and ``B = Z^T S Y``, x = w; Z and Y centred."""

    def __init__(self, design: Design, Y: Float64, weights: Float64 | None, fit_intercept: bool) -> None:
        super().__init__(design, Y, weights, fit_intercept)
        self.order = design.shape[1]

    def matrix(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """The scatter matrix of the features."""
        return self.design.scatter(self.weights, self.means, dtype)

    def right_hand_side(self) -> Float64:
        """``Z^T S Y``; Y is centred, so Z need not be."""
        R = self._weighted(self.centred)
        product: Float64 = self.design.precise_rmatvec(R) - np.multiply.outer(self.means, R.sum(axis=0))
        return product

    def coefficients(self, x: Float64) -> Float64:
        """The unknowns are the coefficients."""
        return x

    def weighted_residuals(self, alpha: Float64, x: Float64, B: Float64) -> Float64:
        """``|y|^2 - B.x - alpha |x|^2``: from ``(A + alpha) x = B``."""
        return np.asarray(np.maximum(self.squares - (x * B).sum(axis=0) - alpha * (x * x).sum(axis=0), 0.0))

    def _objective(self, alpha: Float64, x: Float64, B: Float64) -> Float64:
        del alpha
        return np.asarray(self.squares - (x * B).sum(axis=0))


class Dual(LeastSquares):
    """``A = S^1/2 Z Z^T S^1/2`` and ``B = S^1/2 Y``, ``w = Z^T S^1/2 x``; Z and Y centred."""

    def __init__(self, design: Design, Y: Float64, weights: Float64 | None, fit_intercept: bool) -> None:
        super().__init__(design, Y, weights, fit_intercept)
        self.order = design.shape[0]
        self._roots = None if weights is None else np.sqrt(weights)

    def matrix(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """The kernel matrix of the centred rows: ``k_ij - r_i - r_j + q``, r the weighted means of K's rows, q of r."""
        K = self.design.kernel()
        if self.fit_intercept:
            r = np.average(K, axis=1, weights=self.weights)
            r -= 0.5 * np.average(r, weights=self.weights)
            for start, stop in row_ranges(*K.shape):
                K[start:stop] -= r[start:stop, None] + r
        if self._roots is not None:
            for start, stop in row_ranges(*K.shape):
                K[start:stop] *= np.multiply.outer(self._roots[start:stop], self._roots)
        return K.astype(dtype, copy=False)

    def _rooted(self, R: Float64) -> Float64:
        return R if self._roots is None else R * self._roots[:, None]

    def right_hand_side(self) -> Float64:
        """``S^1/2 Y``."""
        return self._rooted(self.centred)

    def coefficients(self, x: Float64) -> Float64:
        """``Z^T S^1/2 x`` of the centred rows."""
        R = self._rooted(x)
        product: Float64 = self.design.precise_rmatvec(R) - np.multiply.outer(self.means, R.sum(axis=0))
        return product

    def weighted_residuals(self, alpha: Float64, x: Float64, B: Float64) -> Float64:
        """``alpha^2 |x|^2``: residuals times the roots of the weights are alpha x."""
        del B
        return np.asarray(alpha**2 * (x * x).sum(axis=0))

    def _objective(self, alpha: Float64, x: Float64, B: Float64) -> Float64:
        return np.asarray(alpha * (x * B).sum(axis=0))
