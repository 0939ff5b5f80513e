"""Which way a ridge regression is solved, and the ways themselves for given alphas."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram._memory import available_memory, parse_memory

from ._design import Design
from ._least_squares import Dual, LeastSquares, Primal
from ._shifted import Cholesky, Eigen, Singular, warn_singular

__all__ = ["SOLVERS", "Spread", "as_problem", "choose_solver", "direct", "spread_of"]

Float64 = npt.NDArray[np.float64]
SOLVERS = ("auto", "cholesky", "eigen", "cg")
#: Bytes of the factor that ``keep_factor="auto"`` leaves in a fitted model.
KEPT_BYTES = 64e6


class Choice(NamedTuple):
    """A solver, and whether rows rather than features are the unknowns."""

    solver: str
    dual: bool


def choose_solver(shape: tuple[int, int], solver: Any, dual: Any, max_memory: Any, arrays: float = 1.0) -> Choice:
    """Resolve ``"auto"``.

    Parameters
    ----------
    shape : (int, int)
        Rows and features.
    solver, dual, max_memory
        As given to the estimator.
    arrays : float
        Square arrays that the direct way would hold.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {', '.join(map(repr, SOLVERS))}")
    if not (isinstance(dual, bool | np.bool_) or (isinstance(dual, str) and dual == "auto")):
        raise ValueError(f"dual={dual!r} is not accepted; True, False and 'auto' are")
    n, m = shape
    if solver == "cg":
        if dual is True:
            raise ValueError("dual=True is not offered with solver='cg'; dual=False or 'auto' is")
        return Choice(solver, False)
    by_rows = n < m if isinstance(dual, str) else bool(dual)
    if solver != "auto":
        return Choice(solver, by_rows)
    budget = available_memory() // 2 if max_memory is None else parse_memory(max_memory)
    order = n if by_rows else m
    fits = arrays * 8.0 * order * order <= budget
    return Choice("cholesky", by_rows) if fits or (not isinstance(dual, str) and dual) else Choice("cg", False)


def as_problem(design: Design, Y: Float64, weights: Float64 | None, fit_intercept: bool, dual: bool) -> LeastSquares:
    """The system of the features or of the rows."""
    return (Dual if dual else Primal)(design, Y, weights, fit_intercept)


class Direct(NamedTuple):
    """Solutions of one system for one alpha a target."""

    x: Float64
    right_hand_side: Float64
    #: Columns V and weights W, one column a target, with ``V diag(W_t) V^T = (A + alpha_t)^-1``; None unless kept.
    vectors: Float64 | None
    weights: Float64 | None
    solver: str


def direct(problem: LeastSquares, alpha: Float64, solver: str, keep: bool) -> Direct:
    """Solve by factorisation; the minimum norm, with a warning, where ``A + alpha I`` is singular."""
    B = problem.right_hand_side()
    t = B.shape[1]
    distinct, which = np.unique(alpha, return_inverse=True)
    x = np.empty_like(B)
    if solver == "cholesky" and (len(distinct) == 1 or not keep):
        factor = Cholesky(problem.matrix())
        try:
            for i, a in enumerate(distinct):
                x[:, which == i] = factor.solve(float(a), B[:, which == i])
            if keep:
                return Direct(x, B, factor.root(float(distinct[0])), np.ones((problem.order, t)), "cholesky")
            return Direct(x, B, None, None, "cholesky")
        except Singular:
            del factor
    eigen = Eigen(problem.matrix())
    for i, a in enumerate(distinct):
        x[:, which == i] = eigen.solve(float(a), B[:, which == i])
    lowest = float(distinct[0])
    if eigen.rank < eigen.order and eigen.weights(lowest)[eigen.values == 0].sum() == 0:
        warn_singular(lowest, eigen, stacklevel=4)
    if not keep:
        return Direct(x, B, None, None, "eigen")
    weights = np.stack([eigen.weights(float(a)) for a in alpha], axis=1)
    return Direct(x, B, eigen.vectors, weights, "eigen")


class Spread(NamedTuple):
    r"""What the variance of predictions needs: ``1 / sum s + z^T (Z^T S Z + alpha)^-1 z`` for centred rows z.

    With the vectors V and weights W_t: ``sum_j W_jt (z.V_j)^2``, or, solved by rows,
    ``(|z|^2 - sum_j W_jt (z.V_j)^2) / alpha_t`` (Woodbury's identity).
    """

    vectors: Float64
    weights: Float64
    means: Float64
    alpha: Float64
    dual: bool
    #: Variance of the mean of the targets, ``1 / sum of weights``; 0 without an intercept.
    of_mean: float

    def variances(self, design: Design) -> Float64:
        """(n, t), by products alone; columns of V in groups."""
        n = design.shape[0]
        out = np.zeros((n, self.weights.shape[1]))
        step = max(1, int(32e6 / (8 * max(n, 1))))
        multiply = design.precise_matvec if self.dual else design.matvec
        for start in range(0, self.vectors.shape[1], step):
            part = self.vectors[:, start : start + step]
            products = multiply(part) - self.means @ part
            out += np.square(products) @ self.weights[start : start + step]
        if not self.dual:
            return out + self.of_mean
        norms = design.squared_row_norms() + float(self.means @ self.means)
        norms -= 2 * design.precise_matvec(self.means)
        return np.asarray(np.maximum(norms[:, None] - out, 0.0) / self.alpha + self.of_mean)


def spread_of(problem: LeastSquares, alpha: Float64, solution: Direct) -> Spread | None:
    """The `Spread` of a solution whose factor was kept; None where alpha is 0 in a system of rows."""
    if solution.vectors is None or solution.weights is None:
        return None
    of_mean = 1.0 / problem.total if problem.fit_intercept else 0.0
    if isinstance(problem, Dual):
        if (alpha <= 0).any():
            return None
        vectors = problem.coefficients(solution.vectors)
        return Spread(vectors, solution.weights, problem.means, alpha, True, of_mean)
    return Spread(solution.vectors, solution.weights, problem.means, alpha, False, of_mean)
