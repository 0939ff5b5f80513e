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

from ._objective import Objective

__all__ = ["SampledHessian"]

Float64 = npt.NDArray[np.float64]
#: Entries that the factors of all problems may have together: 32 MB.
MOST_ENTRIES = 1 << 22


class SampledHessian:
    """``M^-1`` for each column of theta, from the curvatures at a point.

    Columns of a coupled loss are treated as problems of their own, with curvatures ``p (1 - p)``, and the mean over
    columns is taken out on both sides.
    """

    def __init__(self, objective: Objective, curvature: Float64, norms: Float64) -> None:
        self.objective = objective
        k = curvature.shape[1]
        if objective.loss.coupled:
            curvature = curvature * (1.0 - curvature)
            if objective.weights is not None:
                curvature *= objective.weights[:, None]
        trace = np.einsum("ij,i->j", curvature, norms)
        safe = np.where(trace > 0, trace, 1.0)
        chance = inclusion(norms * (curvature / safe).sum(axis=1), sample_size(objective, k))
        picked = systematic_sample(chance)
        self.design = objective.design.rows(picked)
        delta = curvature[picked] / chance[picked, None]
        r = len(picked)
        seen = np.einsum("ij,i->j", delta, norms[picked])
        unseen = 0.0 if (chance >= 1.0).all() or r == 0 else 1.0
        floor = 1e-12 * np.maximum(seen, 1e-300)
        self.rho = np.maximum(objective.penalty + unseen * trace / max(r, 1), floor)
        self.rho_b = np.maximum(objective.intercept_penalty, 1e-3 * self.rho / max(float(norms.mean()), 1e-300))
        self.primal = objective.m < r
        self.factors: list[Any] = []
        if self.primal:
            for j in range(k):
                self.factors.append(self._primal_factor(delta[:, j], j))
        else:
            self.roots = np.sqrt(delta)
            kernel = self.design.kernel()
            for j in range(k):
                matrix = kernel + self.rho[j] / self.rho_b[j] if objective.fit_intercept else kernel.copy()
                matrix *= self.roots[:, j, None]
                matrix *= self.roots[:, j]
                matrix.flat[:: r + 1] += self.rho[j]
                self.factors.append(cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False))

    def _primal_factor(self, delta: Float64, j: int) -> Any:
        objective, m = self.objective, self.objective.m
        matrix = np.empty((objective.size, objective.size))
        matrix[:m, :m] = self.design.gram(delta)
        if objective.fit_intercept:
            matrix[m, :m] = matrix[:m, m] = self.design.rmatvec(delta)
            matrix[m, m] = delta.sum() + self.rho_b[j]
        matrix.flat[: m * (objective.size + 1) : objective.size + 1] += self.rho[j]
        return cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, V: Float64, columns: npt.NDArray[Any] | None = None) -> Float64:
        """``M^-1 V``; V holds the given columns."""
        index = range(V.shape[1]) if columns is None else columns
        if self.objective.loss.coupled:
            V = V - V.mean(axis=1, keepdims=True)
        if self.primal:
            result = np.column_stack([cho_solve(self.factors[j], V[:, i]) for i, j in enumerate(index)])
        else:
            result = self._dual(V, np.asarray(index))
        if self.objective.loss.coupled:
            result -= result.mean(axis=1, keepdims=True)
        return result

    def _dual(self, V: Float64, index: npt.NDArray[Any]) -> Float64:
        m, intercept = self.objective.m, self.objective.fit_intercept
        rho, rho_b = self.rho[index], self.rho_b[index]
        inner = self.design.matvec(V[:m])
        if intercept:
            inner += V[m] * (rho / rho_b)
        for i, j in enumerate(index):
            inner[:, i] = self.roots[:, j] * cho_solve(self.factors[j], self.roots[:, j] * inner[:, i])
        result = V / rho
        result[:m] -= self.design.rmatvec(inner) / rho
        if intercept:
            result[m] = (V[m] - inner.sum(axis=0)) / rho_b
        return result


def sample_size(objective: Objective, k: int) -> int:
    """Rows of the sample: a factorisation should cost no more than some passes, and all factors must fit."""
    most = int((MOST_ENTRIES / k) ** 0.5)
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
