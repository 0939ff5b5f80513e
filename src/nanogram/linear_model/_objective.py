"""The objective of penalised linear models over a `Design`: values, gradients and Hessian products in one pass each.

    F(W, b) = sum_i s_i l(y_i, z_i W + b) + penalty / 2 |W|^2 + intercept_penalty / 2 |b|^2

W and b are held as one array theta of shape (m + 1, k), b its last row, or (m, k) without an intercept. Columns of a
loss that is not `coupled` are k problems that share their passes: "by problem" below means one number a column then,
and a single number for a coupled loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._design import Design
from .losses import Loss

__all__ = ["Objective", "Point"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
#: Entries of raw predictions worked on at a time: small enough for temporaries to stay in the cache.
BLOCK = 1 << 15


class Point(NamedTuple):
    """Parameters and what one pass finds out about them."""

    theta: Float64
    #: Raw predictions, (n, k).
    raw: Float64
    #: F, by problem.
    value: Float64
    #: dF/dtheta.
    gradient: Float64
    #: By problem: whether value and gradient are finite (where not, the gradient holds zeros).
    finite: npt.NDArray[np.bool_]


class Objective:
    """F and its derivatives.

    Parameters
    ----------
    design : Design
        The features, (n, m).
    loss : Loss
        Of targets and raw predictions.
    y : ndarray
        Targets as the loss wants them: (n, k), or class indices (n,) for a coupled loss.
    k : int
        Columns of raw predictions.
    weights : ndarray of shape (n,) or None
        s, ones if None.
    penalty, intercept_penalty : float
        Factors of the squares.
    fit_intercept : bool
        Whether there is a b.
    """

    def __init__(
        self,
        design: Design,
        loss: Loss,
        y: Array,
        k: int,
        *,
        weights: Float64 | None,
        penalty: float,
        fit_intercept: bool,
        intercept_penalty: float = 0.0,
    ) -> None:
        self.design, self.loss, self.y, self.k = design, loss, y, k
        self.weights, self.fit_intercept = weights, fit_intercept
        self.penalty, self.intercept_penalty = penalty, intercept_penalty
        self.n, self.m = design.shape

    @property
    def size(self) -> int:
        """Rows of theta."""
        return self.m + int(self.fit_intercept)

    def dot(self, A: Float64, B: Float64) -> Float64:
        """Inner products by problem."""
        products = np.einsum("ij,ij->j", A, B)
        return products.sum(keepdims=True) if self.loss.coupled else products

    def penalised(self, theta: Float64) -> Float64:
        """Gradient of the penalty; also its Hessian's product with theta."""
        result = self.penalty * theta
        if self.fit_intercept:
            result[self.m] = self.intercept_penalty * theta[self.m]
        return result

    def evaluate(self, theta: Float64, columns: Array | None = None) -> Point:
        """Value and gradient, in one pass; ``theta`` holds the given columns (all of them by default)."""
        raw = np.empty((self.n, theta.shape[1]))
        sums = _Sums(self, theta.shape[1])

        def between(rows: slice, product: Float64) -> Float64:
            if self.fit_intercept:
                product += theta[self.m]
            raw[rows] = product
            return sums.add(product, rows, columns)

        back = self.design.there_and_back(theta[: self.m], between, "float32")
        return self._point(theta, raw, back, sums)

    def at(self, theta: Float64, raw: Float64, columns: Array | None = None) -> Point:
        """The same where the raw predictions are known, in half a pass."""
        sums = _Sums(self, theta.shape[1])
        residual = sums.add(raw.copy(), slice(0, self.n), columns)
        return self._point(theta, raw, self.design.rmatvec(residual, "float32"), sums)

    def _point(self, theta: Float64, raw: Float64, back: Float64, sums: _Sums) -> Point:
        penalty_gradient = self.penalised(theta)
        value = sums.values + 0.5 * self.dot(theta, penalty_gradient)
        penalty_gradient[: self.m] += back
        if self.fit_intercept:
            penalty_gradient[self.m] += sums.gradients
        return Point(theta, raw, value, penalty_gradient, np.isfinite(value) & sums.finite)

    def curvature(self, point: Point, columns: Array | None = None) -> Float64:
        """What `hessian_product` needs of a point: (n, k), weighted unless the loss is coupled."""
        result = np.empty_like(point.raw)
        for rows in self.blocks(slice(0, self.n), point.raw.shape[1]):
            result[rows] = self.loss.curvature(self.targets(rows, columns), point.raw[rows])
            if self.weights is not None and not self.loss.coupled:
                result[rows] *= self.weights[rows, None]
        return result

    def hessian_product(self, curvature: Float64, V: Float64, columns: Array | None = None) -> Float64:
        """The Hessian times V, in one pass at precision "fast"; V holds the given columns of the curvature's."""
        total = np.zeros(V.shape[1])

        def between(rows: slice, product: Float64) -> Float64:
            for block in self.blocks(rows, V.shape[1]):
                part = product[block.start - rows.start : block.stop - rows.start]
                if self.fit_intercept:
                    part += V[self.m]
                part[:] = self.loss.hessian_product(_columns(curvature[block], columns), part)
                if self.weights is not None and self.loss.coupled:
                    part *= self.weights[block, None]
                total[:] += part.sum(axis=0)
            return product

        back = self.design.there_and_back(V[: self.m], between, "fast")
        result = self.penalised(V)
        result[: self.m] += back
        if self.fit_intercept:
            result[self.m] += total
        return result

    def slope(self, point: Point, change: Float64, step: Float64, t: Float64, columns: Array | None = None) -> Float64:
        """dF/dt at ``theta + t step`` by problem; ``change`` holds ``Z step``. It costs no pass."""
        slopes = np.zeros(change.shape[1])
        for rows in self.blocks(slice(0, self.n), change.shape[1]):
            with np.errstate(over="ignore", invalid="ignore"):
                gradient = self.loss.gradient(self.targets(rows, columns), point.raw[rows] + t * change[rows])
                if self.weights is not None:
                    gradient *= self.weights[rows, None]
                slopes += np.einsum("ij,ij->j", gradient, change[rows])
        along = self.penalised(step)
        total = slopes.sum(keepdims=True) if self.loss.coupled else slopes
        total = total + self.dot(point.theta, along) + t * self.dot(step, along)
        return np.where(np.isfinite(total), total, np.inf)

    def targets(self, rows: slice, columns: Array | None) -> Array:
        """Targets of rows, and of columns where each has its own."""
        part = self.y[rows]
        return part if self.loss.coupled else _columns(part, columns)

    def blocks(self, rows: slice, k: int) -> Iterator[slice]:
        """The rows in blocks whose temporaries stay in the cache."""
        size = max(BLOCK // max(k, 1), 256)
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))


def _columns(part: Array, columns: Array | None) -> Array:
    return part if columns is None else part[:, columns]


class _Sums:
    """Sums over rows that an evaluation makes on its way."""

    def __init__(self, objective: Objective, k: int) -> None:
        self.objective = objective
        self.values = np.zeros(1 if objective.loss.coupled else k)
        self.gradients = np.zeros(k)
        self.finite = np.ones(self.values.shape, dtype=bool)

    def add(self, raw: Float64, rows: slice, columns: Array | None) -> Float64:
        """Turn raw predictions of rows into weighted gradients, in place, and count them in."""
        objective = self.objective
        for block in objective.blocks(rows, raw.shape[1]):
            part = raw[block.start - rows.start : block.stop - rows.start]
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = objective.loss.value_and_gradient(objective.targets(block, columns), part)
            if objective.weights is not None:
                weights = objective.weights[block]
                value = value * (weights if value.ndim == 1 else weights[:, None])
                gradient *= weights[:, None]
            if not np.isfinite(gradient).all():
                bad = ~np.isfinite(gradient).all(axis=0)
                gradient[:, bad] = 0.0
                self.finite &= not bad.any() if objective.loss.coupled else ~bad
            self.values += value.sum(axis=0)
            self.gradients += gradient.sum(axis=0)
            part[:] = gradient
        return raw
