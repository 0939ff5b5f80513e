r"""Scores of ridge regressions along a path of alphas, one decomposition for all of them.

With H the matrix that takes targets to fitted values, n rows (weights s, residuals e),

    GCV(alpha) = (1/n) sum_i s_i e_i^2 / (1 - tr H / n)^2,        LOO(alpha) = (1/n) sum_i s_i (e_i / (1 - h_ii))^2

Golub, Heath and Wahba (1979), "Generalized cross-validation as a method for choosing a good ridge parameter",
equations 1.4 and 1.6. LOO is what leaving out each row in turn gives, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._cg import conjugate_gradients, default_rank, nystroem
from ._design import Design
from ._lanczos import quadrature
from ._least_squares import Dual, LeastSquares, Primal
from ._ridge_solve import Choice, as_problem
from ._shifted import Eigen
from ._tridiagonal import Tridiagonal

__all__ = ["LeftOut", "gcv", "grid", "leave_one_out", "path_models"]

Float64 = npt.NDArray[np.float64]
#: The grid of ``alphas="auto"``, in units of the mean squared norm of the centred rows.
GRID = np.logspace(-5, 2, 15)
#: Bytes of the columns that are multiplied at a time.
COLUMN_BYTES = 32e6


def grid(design: Design, weights: Float64 | None) -> Float64:
    """Alphas from 1e-5 to 1e2 times the mean squared norm of the centred rows, two a decade."""
    total = float(design.shape[0]) if weights is None else float(weights.sum())
    mean = design.column_sums() if weights is None else design.precise_rmatvec(weights)
    mean = mean / total
    spread = float(np.average(design.squared_row_norms(), weights=weights) - mean @ mean)
    return GRID * (spread if spread > 1e-12 * float(mean @ mean) and spread > 0 else 1.0)


def gcv(
    problem: LeastSquares, alphas: Float64, choice: Choice, *, max_iter: int, seed: int, tick: Callable[[float], bool]
) -> tuple[Float64, Float64]:
    """The negative of GCV, (a, t), and degrees of freedom ``tr H``, (a,)."""
    B = problem.right_hand_side()
    if choice.solver == "cg":
        assert isinstance(problem, Primal), "iterations work on the features' system"
        found = quadrature(problem, B, alphas, max_iter=max_iter, seed=seed, tick=tick)
        residuals, degrees = found.residuals, found.degrees
    else:
        form = Tridiagonal(problem.matrix(choice.dtype))
        rotated = form.rotated(B)
        residuals, degrees = np.empty((len(alphas), B.shape[1])), np.empty(len(alphas))
        for i, alpha in enumerate(alphas):
            # Residuals ask for norms and inner products of solutions alone, which Q does not change.
            x = form.solve_rotated(alpha, rotated)
            residuals[i] = problem.weighted_residuals(np.full(B.shape[1], alpha), x, rotated)
            degrees[i] = problem.order - alpha * form.trace_inverse(alpha)
    degrees = degrees + bool(problem.fit_intercept)
    n = problem.n_counted
    left = np.maximum(1.0 - degrees / n, np.finfo(np.float64).eps)
    return -residuals / n / left[:, None] ** 2, degrees


class LeftOut(NamedTuple):
    """For each alpha (a), row (n) and target (t): residuals of the models fitted without the row, (a, n, t)."""

    residuals: Float64


def leave_one_out(problem: LeastSquares, alphas: Float64) -> LeftOut:
    """Exact leave-one-out residuals from one eigendecomposition and one more pass over the rows."""
    B = problem.right_hand_side()
    eigen = Eigen(problem.matrix(), cut=0.0)
    rotated = eigen.vectors.T @ B
    inverse = 1.0 / (eigen.values[:, None] + alphas)  # (k, a)
    n, (a, t) = problem.design.shape[0], (len(alphas), B.shape[1])
    s = np.ones(n) if problem.weights is None else problem.weights
    own = s / problem.total if problem.fit_intercept else np.zeros(n)
    if isinstance(problem, Dual):
        # 1 - h_ii = alpha ((A + alpha)^-1)_ii - s_i / sum s, and alpha x are the residuals times the roots of s.
        left = np.square(eigen.vectors) @ inverse * alphas - own[:, None]
        x = eigen.vectors @ (inverse[:, :, None] * rotated[:, None, :]).reshape(len(inverse), a * t)
        residuals = x.reshape(n, a, t) * alphas[:, None] / np.sqrt(s)[:, None, None]
    else:
        leverages, fitted = np.zeros((n, a)), np.zeros((n, a * t))
        step = max(1, int(COLUMN_BYTES / (8 * n)))
        for start in range(0, eigen.order, step):
            some = slice(start, start + step)
            U = np.ascontiguousarray(eigen.vectors[:, some])
            P = problem.design.precise_matvec(U) - problem.means @ U
            leverages += np.square(P) @ inverse[some]
            fitted += P @ (inverse[some, :, None] * rotated[some, None, :]).reshape(-1, a * t)
        residuals = problem.centred[:, None, :] - fitted.reshape(n, a, t)
        left = 1.0 - s[:, None] * leverages - own[:, None]
    # A row that alone decides its own prediction cannot be left out: rounding must not make it look good.
    left = np.where(left > 1e-12, left, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        return LeftOut(np.moveaxis(residuals / left[:, :, None], 1, 0))


def path_models(
    design: Design,
    Y: Float64,
    weights: Float64 | None,
    fit_intercept: bool,
    alphas: Float64,
    choice: Choice,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    tick: Callable[[float], bool],
) -> Iterator[tuple[Float64, Float64]]:
    """Coefficients (m, t) and intercepts (t,) of each alpha, for rows of a fold."""
    problem = as_problem(design, Y, weights, fit_intercept, choice.dual)
    B = problem.right_hand_side()
    t = B.shape[1]
    if choice.solver == "cg":
        assert isinstance(problem, Primal), "iterations work on the features' system"
        # All alphas side by side: the passes over the codes are shared.
        found = conjugate_gradients(
            problem,
            np.repeat(alphas, t),
            np.tile(B, (1, len(alphas))),
            start=None,
            preconditioner=nystroem(problem, default_rank(*design.shape, t * len(alphas)), seed),
            tol=tol,
            max_iter=max_iter,
            tick=lambda _, relative: tick(float(relative.max())),
        )
        for i in range(len(alphas)):
            coef = found.x[:, i * t : (i + 1) * t]
            yield coef, problem.intercepts(coef)
        return
    form = Tridiagonal(problem.matrix(choice.dtype))
    rotated = form.rotated(B)
    for alpha in alphas:
        coef = problem.coefficients(form.back(form.solve_rotated(alpha, rotated)))
        yield coef, problem.intercepts(coef)


def tiled(parts: list[tuple[Float64, Float64]], design: Design) -> Any:
    """Predictions (a, n, t) of several models in one pass."""
    coef = np.hstack([coef for coef, _ in parts])
    raw = design.matvec(coef) + np.concatenate([intercept for _, intercept in parts])
    return np.moveaxis(raw.reshape(len(raw), len(parts), -1), 1, 0)
