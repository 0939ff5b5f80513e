"""The objective of penalised linear models over a `Design`: values, gradients and Hessian products in one pass each.

    F(W, b) = sum_i s_i l(y_i, z_i W + b) + penalty / 2 |W|^2 + intercept_penalty / 2 |b|^2

W and b are held as one array theta of shape (m + 1, k), b its last row, or (m, k) without an intercept. Columns of a
loss that is not `coupled` are k problems that share their passes: "by problem" below means one number a column then,
and a single number for a coupled loss. Work on rows beside the products is done in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._design import Design
from .losses import Loss

__all__ = ["Columns", "Objective", "Point"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
#: Problems taken part in: indices of columns, or None for all of them.
Columns = npt.NDArray[np.int64] | None
#: Entries of raw predictions worked on at a time: small enough for temporaries to stay in the cache.
BLOCK = 1 << 15


class Point(NamedTuple):
    """Parameters and what one pass finds out about them."""

    theta: Float64
    #: Raw predictions, (n, k).
    raw: Float64
    #: F, by problem.
    value: Float64
    #: dF/dtheta; zeros where it is not finite.
    gradient: Float64
    #: By problem: whether value and gradient are finite.
    finite: npt.NDArray[np.bool_]

    def take(self, columns: Columns) -> Point:
        """The problems named."""
        if columns is None:
            return self
        theta, raw, value, gradient, finite = self
        return Point(theta[:, columns], raw[:, columns], value[columns], gradient[:, columns], finite[columns])

    def put(self, columns: Columns, other: Point) -> Point:
        """With the problems named as in another point; changes this one."""
        if columns is None:
            return other
        for mine, theirs in zip(self, other, strict=True):
            mine[..., columns] = theirs
        return self


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
    weights : ndarray of shape (n,) or (n, k), or None
        s, ones if None; a column for each problem where the loss is not coupled.
    penalty, intercept_penalty : float
        Factors of the squares.
    fit_intercept : bool
        Whether there is a b.

    Attributes
    ----------
    precise : bool
        Whether values and gradients come from products of full double precision; else from those of "float32".
    n_products : int
        Products with Z or its transpose so far: the cost of a fit.
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
        self.weights = weights if weights is None or weights.ndim == 2 else weights[:, None]
        self.fit_intercept = fit_intercept
        self.penalty, self.intercept_penalty = penalty, intercept_penalty
        self.n, self.m = design.shape
        self.precise = False
        self.n_products = 0

    @property
    def size(self) -> int:
        """Rows of theta."""
        return self.m + int(self.fit_intercept)

    def dot(self, A: Float64, B: Float64) -> Float64:
        """Inner products by problem."""
        products: Float64 = np.einsum("ij,ij->j", A, B)
        return products.sum(keepdims=True) if self.loss.coupled else products

    def penalised(self, theta: Float64) -> Float64:
        """Gradient of the penalty; also its Hessian's product with theta."""
        result = self.penalty * theta
        if self.fit_intercept:
            result[self.m] = self.intercept_penalty * theta[self.m]
        return result

    # ------------------------------------------------------------------ values and gradients

    def evaluate(self, theta: Float64, columns: Columns = None) -> Point:
        """Value and gradient, in one pass; ``theta`` holds the given columns."""
        raw = np.empty((self.n, theta.shape[1]))
        sums = _Sums(self, theta.shape[1])

        def between(rows: slice, product: Float64) -> Float64:
            if self.fit_intercept:
                product += theta[self.m]
            raw[rows] = product
            return sums.add(product, rows, columns)

        self.n_products += 2
        W = np.ascontiguousarray(theta[: self.m])
        if self.precise:
            back = self.design.precise_rmatvec(between(slice(0, self.n), self.design.precise_matvec(W)))
        else:
            back = self.design.there_and_back(W, between, "float32")
        return self._point(theta, raw, back, sums)

    def at(self, theta: Float64, raw: Float64, columns: Columns = None) -> Point:
        """The same where the raw predictions are known, by one product."""
        sums = _Sums(self, theta.shape[1])
        residual = sums.add(raw.copy(), slice(0, self.n), columns)
        self.n_products += 1
        rmatvec = self.design.precise_rmatvec if self.precise else self.design.rmatvec
        return self._point(theta, raw, rmatvec(residual), sums)

    def constant(self, intercept: Float64) -> Point:
        """The point of zero coefficients and this intercept (0 without one), by one product."""
        theta = np.zeros((self.size, self.k))
        if self.fit_intercept:
            theta[self.m] = intercept
        raw = np.empty((self.n, self.k))
        raw[:] = intercept if self.fit_intercept else 0.0
        return self.at(theta, raw)

    def _point(self, theta: Float64, raw: Float64, back: Float64, sums: _Sums) -> Point:
        gradient = self.penalised(theta)
        value = sums.values + 0.5 * self.dot(theta, gradient)
        gradient[: self.m] += back
        if self.fit_intercept:
            gradient[self.m] += sums.gradients
        return Point(theta, raw, value, gradient, np.isfinite(value) & sums.finite)

    # ------------------------------------------------------------------ second derivatives

    def curvature(self, point: Point, columns: Columns = None) -> Float64:
        """What `hessian_product` needs of a point: (n, k), weighted unless the loss is coupled."""
        result = np.empty_like(point.raw)
        for rows in self.blocks(slice(0, self.n), point.raw.shape[1]):
            result[rows] = self.loss.curvature(self.targets(rows, columns), point.raw[rows])
            if self.weights is not None and not self.loss.coupled:
                result[rows] *= self.weights_of(rows, columns)
        return result

    def hessian_product(self, curvature: Float64, V: Float64) -> Float64:
        """The Hessian times V, in one pass at precision "fast"; V has the columns of the curvature."""
        total = np.zeros(V.shape[1])

        def between(rows: slice, product: Float64) -> Float64:
            for block in self.blocks(rows, V.shape[1]):
                part = product[block.start - rows.start : block.stop - rows.start]
                if self.fit_intercept:
                    part += V[self.m]
                part[:] = self.loss.hessian_product(curvature[block], part)
                if self.weights is not None and self.loss.coupled:
                    part *= self.weights[block]
                total[:] += part.sum(axis=0)
            return product

        self.n_products += 2
        back = self.design.there_and_back(np.ascontiguousarray(V[: self.m]), between, "fast")
        result = self.penalised(V)
        result[: self.m] += back
        if self.fit_intercept:
            result[self.m] += total
        return result

    def slope(self, point: Point, change: Float64, step: Float64, t: Float64, columns: Columns = None) -> Float64:
        """dF/dt at ``theta + t step`` by problem; ``change`` holds the change of raw predictions. It costs no pass."""
        slopes = np.zeros(change.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in self.blocks(slice(0, self.n), change.shape[1]):
                gradient = self.loss.gradient(self.targets(rows, columns), point.raw[rows] + t * change[rows])
                if self.weights is not None:
                    gradient *= self.weights_of(rows, columns)
                slopes += np.einsum("ij,ij->j", gradient, change[rows])
            along = self.penalised(step)
            total = slopes.sum(keepdims=True) if self.loss.coupled else slopes
            total = total + self.dot(point.theta, along) + t * self.dot(step, along)
        return np.where(np.isfinite(total), total, np.inf)

    # ------------------------------------------------------------------ rows

    def targets(self, rows: slice, columns: Columns) -> Array:
        """Targets of rows, and of columns where each has its own."""
        part: Array = self.y[rows]
        return part if self.loss.coupled or columns is None else part[:, columns]

    def weights_of(self, rows: slice, columns: Columns) -> Float64:
        """Weights of rows, where there are any: one column, or those named of many."""
        assert self.weights is not None, "asked for where there are weights"
        part: Float64 = self.weights[rows]
        return part if columns is None or part.shape[1] == 1 else part[:, columns]

    def residual_norms(self, point: Point) -> Float64:
        """Norm over rows of ``s_i dl/df`` by problem."""
        squares = np.zeros(point.raw.shape[1])
        for rows in self.blocks(slice(0, self.n), point.raw.shape[1]):
            gradient = self.loss.gradient(self.targets(rows, None), point.raw[rows])
            if self.weights is not None:
                gradient *= self.weights[rows]
            squares += np.einsum("ij,ij->j", gradient, gradient)
        return np.sqrt(squares.sum(keepdims=True) if self.loss.coupled else squares)

    def blocks(self, rows: slice, k: int) -> Iterator[slice]:
        """The rows in blocks whose temporaries stay in the cache."""
        size = max(BLOCK // max(k, 1), 256)
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))


class _Sums:
    """Sums over rows that an evaluation makes on its way."""

    def __init__(self, objective: Objective, k: int) -> None:
        self.objective = objective
        self.values = np.zeros(1 if objective.loss.coupled else k)
        self.gradients = np.zeros(k)
        self.finite = np.ones(self.values.shape, dtype=bool)

    def add(self, raw: Float64, rows: slice, columns: Columns) -> Float64:
        """Turn raw predictions of rows into weighted gradients, in place, and count them in."""
        objective = self.objective
        for block in objective.blocks(rows, raw.shape[1]):
            part = raw[block.start - rows.start : block.stop - rows.start]
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = objective.loss.value_and_gradient(objective.targets(block, columns), part)
                if objective.weights is not None:
                    weights = objective.weights_of(block, columns)
                    value = value * (weights[:, 0] if value.ndim == 1 else weights)
                    gradient *= weights
                self.values += value.sum(axis=0)
                sums = gradient.sum(axis=0)
            if not np.isfinite(sums).all():
                bad = ~np.isfinite(gradient).all(axis=0)
                gradient[:, bad] = sums[bad] = 0.0
                self.finite &= not bad.any() if objective.loss.coupled else ~bad
            self.gradients += sums
            part[:] = gradient
        return raw
