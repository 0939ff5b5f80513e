r"""A preconditioner for Hessians of linear models, from a sample of rows.

The Hessian of one problem is ``H = Z^T D Z + penalty I``, D the weighted curvatures. A sample S of r rows, row i taken
with probability pi_i in proportion to ``D_i |z_i|^2``, estimates it without bias:

    M = Z_S^T diag(D_i / pi_i) Z_S + rho I,     rho = penalty + what a sample of r rows cannot see

Directions in which H is larger than ``tr(Z^T D Z) / r`` are seen, all others share rho. Through the identity of
Woodbury, with Delta = diag(D_i / pi_i) and A A^T = Delta^1/2 Z_S Z_S^T Delta^1/2 + rho I (Cholesky, r x r),

    M^-1 v = (v - Z_S^T Delta^1/2 (A A^T)^-1 Delta^1/2 Z_S v) / rho

costs products with r rows and two triangular solves, little beside a pass over n rows. If the sample is all rows,
M is the Hessian. Where m is less than r, M itself is factorised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from ._design import ArrayDesign, Design
from ._objective import Objective

__all__ = ["SampledHessian", "row_norms"]

Float64 = npt.NDArray[np.float64]
#: Bytes that the factors of all problems may take together.
MOST_BYTES = 32 << 20
#: Matrices of more entries than this have norms of so many rows taken.
NORMS_ENTRIES = 20_000_000
NORMS_ROWS = 512


class SampledHessian:
    """``M^-1`` for each column, from the curvatures at a point.

    Columns of a coupled loss are treated as problems of their own, with curvatures ``p (1 - p)``, and the mean over
    columns is taken out on both sides: their Hessian is 0 there but for the penalty.

    Parameters
    ----------
    objective : Objective
    curvature : array of shape (n, k)
        Of `Objective.curvature`.
    norms : array of shape (n,)
        Squared norms of rows.
    """

    def __init__(self, objective: Objective, curvature: Float64, norms: Float64) -> None:
        self.coupled, self.intercept, self.m = objective.loss.coupled, objective.fit_intercept, objective.m
        k = curvature.shape[1]
        if self.coupled:
            curvature = curvature * (1.0 - curvature)
            if objective.weights is not None:
                curvature *= objective.weights
        trace = np.einsum("ij,i->j", curvature, norms)
        sizes = norms * (curvature / np.where(trace > 0, trace, 1.0)).sum(axis=1)
        chance = inclusion(sizes, sample_size(objective, k))
        picked = systematic_sample(chance)
        try:
            self.design = objective.design.rows(picked)
        except TypeError:  # rows that come in one order only: no sample, no preconditioner
            picked = picked[:0]
        delta = curvature[picked] / chance[picked, None]
        r = len(picked)
        seen = np.einsum("ij,i->j", delta, norms[picked])
        unseen = np.count_nonzero(sizes) > r
        rho = objective.penalty + (trace / max(r, 1) if unseen else 0.0)
        self.rho: Float64 = np.maximum(rho, 1e-12 * np.maximum(seen, 1e-280))
        # Of the intercept: small beside what it sees, yet of use where a penalty is all there is.
        floor = 1e-3 * self.rho / max(float(norms.mean()), 1e-280)
        self.rho_b: Float64 = np.maximum(objective.intercept_penalty, floor)
        self.primal = objective.m < r
        self.roots = np.sqrt(delta)
        if self.primal:
            self.factors = [self._primal_factor(delta[:, j], j) for j in range(k)]
        elif r:
            kernel = self.design.kernel()
            self.factors = [self._dual_factor(kernel if j == k - 1 else kernel.copy(), j) for j in range(k)]

    def _primal_factor(self, delta: Float64, j: int) -> Any:
        m, size = self.m, self.m + int(self.intercept)
        matrix = np.empty((size, size))
        matrix[:m, :m] = self.design.gram(delta)
        if self.intercept:
            matrix[m, :m] = matrix[:m, m] = self.design.rmatvec(delta)
            matrix[m, m] = delta.sum() + self.rho_b[j]
        matrix.flat[: m * (size + 1) : size + 1] += self.rho[j]
        return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def _dual_factor(self, matrix: Float64, j: int) -> Any:
        if self.intercept:
            matrix += self.rho[j] / self.rho_b[j]
        matrix *= self.roots[:, j, None]
        matrix *= self.roots[:, j]
        matrix.flat[:: len(matrix) + 1] += self.rho[j]
        return cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, V: Float64) -> Float64:
        """``M^-1 V``."""
        if self.coupled:
            V = V - V.mean(axis=1, keepdims=True)
        if self.primal:
            result = np.column_stack([cho_solve(factor, V[:, j]) for j, factor in enumerate(self.factors)])
        else:
            result = self._dual(V)
        if self.coupled:
            result -= result.mean(axis=1, keepdims=True)
        return result

    def _dual(self, V: Float64) -> Float64:
        m, rho, rho_b = self.m, self.rho, self.rho_b
        result = V / rho
        if self.intercept:
            result[m] = V[m] / rho_b
        if not len(self.roots):
            return result
        inner = self.design.matvec(np.ascontiguousarray(V[:m]))
        if self.intercept:
            inner += V[m] * (rho / rho_b)
        for j, factor in enumerate(self.factors):
            inner[:, j] = self.roots[:, j] * cho_solve(factor, self.roots[:, j] * inner[:, j])
        result[:m] -= self.design.rmatvec(inner) / rho
        if self.intercept:
            result[m] -= inner.sum(axis=0) / rho_b
        return result


def row_norms(design: Design) -> Float64:
    """Squared norms of rows; of large matrices of codes, or where rows are encoded, the mean over some of them for all.

    Codes of random features have rows of nearly equal norm, and to decode all of them costs more than many products.
    What is made of the norms, chances of rows to be in a sample, need not be exact.
    """
    n, m = design.shape
    if n <= NORMS_ROWS or isinstance(design, ArrayDesign) or (n * m < NORMS_ENTRIES and not design.streamed):
        return design.squared_row_norms()
    try:
        some = design.rows(np.linspace(0, n - 1, NORMS_ROWS).astype(np.int64))
    except TypeError:  # rows that come in one order only
        return design.squared_row_norms()
    return np.full(n, some.squared_row_norms().mean())


def sample_size(objective: Objective, k: int) -> int:
    """Rows of the sample: a factorisation should cost no more than some passes, and all factors must fit."""
    most = int((MOST_BYTES / 8 / k) ** 0.5)
    return min(objective.n, most, max(256, int((30.0 * objective.n * objective.m) ** (1 / 3))))


def inclusion(sizes: Float64, count: int) -> Float64:
    """Probabilities in proportion to sizes, at most 1, that add up to ``count`` (or to all that have a size)."""
    chance = np.zeros(len(sizes))
    if np.count_nonzero(sizes) <= count:
        chance[sizes > 0] = 1.0
        return chance
    left = sizes > 0
    while True:
        factor = (count - np.count_nonzero(chance == 1.0)) / sizes[left].sum()
        certain = left & (sizes * factor >= 1.0)
        if not certain.any():
            chance[left] = sizes[left] * factor
            return chance
        chance[certain] = 1.0
        left &= ~certain


def systematic_sample(chance: Float64) -> npt.NDArray[np.int64]:
    """Indices picked with these probabilities: every whole number that their running sum passes. No chance in it."""
    certain = chance >= 1.0
    steps = np.floor(np.cumsum(np.where(certain, 0.0, chance)) + 0.5)
    passed = np.diff(steps, prepend=0.0) > 0
    return np.flatnonzero(certain | passed)
