"""Which way a ridge regression is solved, and the ways themselves for given alphas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram._memory import available_memory, parse_memory

from ._cg import precise_product
from ._design import ArrayDesign, Design
from ._least_squares import Dual, LeastSquares, Primal
from ._shifted import Cholesky, Eigen, Singular, warn_singular

__all__ = ["SOLVERS", "Choice", "SinglePrecision", "Spread", "as_problem", "choose_solver", "direct", "spread_of"]

Float64 = npt.NDArray[np.float64]
SOLVERS = ("auto", "cholesky", "eigen", "cg")
#: Bytes of the factor that ``keep_factor="auto"`` leaves in a fitted model.
KEPT_BYTES = 64e6


class Choice(NamedTuple):
    """A solver, whether rows rather than features are the unknowns, and in which precision the matrix is held."""

    solver: str
    dual: bool
    dtype: type[np.float64 | np.float32] = np.float64

    @property
    def single(self) -> bool:
        """Whether the matrix is held in single precision, and solutions are refined by exact products."""
        return self.dtype is np.float32


def choose_solver(design: Design, solver: Any, dual: Any, max_memory: Any, *, single: bool = True) -> Choice:
    """Resolve ``"auto"``: Cholesky in double where its matrix fits, in single where that does, else iterations.

    Parameters
    ----------
    design : Design
        Streamed rows need two matrices: the sum, and what a block adds.
    solver, dual, max_memory
        As given to the estimator.
    single : bool
        Whether single precision will do.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {', '.join(map(repr, SOLVERS))}")
    if not (isinstance(dual, bool | np.bool_) or (isinstance(dual, str) and dual == "auto")):
        raise ValueError(f"dual={dual!r} is not accepted; True, False and 'auto' are")
    n, m = design.shape
    if solver == "cg":
        if dual is True:
            raise ValueError("dual=True is not offered with solver='cg'; dual=False or 'auto' is")
        return Choice(solver, False)
    by_rows = n < m if isinstance(dual, str) else bool(dual)
    if solver != "auto":
        return Choice(solver, by_rows)
    budget = available_memory() // 2 if max_memory is None else parse_memory(max_memory)
    order = n if by_rows else m
    entries = float(order) * order * (2 if design.streamed and not by_rows else 1)
    if 8.0 * entries <= budget or dual is True:
        return Choice("cholesky", by_rows)
    if single and not by_rows and 4.0 * entries <= budget:
        return Choice("cholesky", by_rows, np.float32)
    return Choice("cg", False)


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
        factor: Cholesky | None = Cholesky(problem.matrix())
        try:
            assert factor is not None, "it has just been made"
            for i, a in enumerate(distinct):
                x[:, which == i] = factor.solve(float(a), B[:, which == i])
            x = _refined(problem, alpha, B, x, factor.solve)
            if keep:
                return Direct(x, B, factor.root(float(distinct[0])), np.ones((problem.order, t)), "cholesky")
            return Direct(x, B, None, None, "cholesky")
        except Singular:
            factor = None  # its memory is needed
    eigen = Eigen(problem.matrix())
    for i, a in enumerate(distinct):
        x[:, which == i] = eigen.solve(float(a), B[:, which == i])
    x = _refined(problem, alpha, B, x, eigen.solve)
    lowest = float(distinct[0])
    if eigen.rank < eigen.order and eigen.weights(lowest)[eigen.values == 0].sum() == 0:
        warn_singular(lowest, eigen, stacklevel=4)
    if not keep:
        return Direct(x, B, None, None, "eigen")
    weights = np.stack([eigen.weights(float(a)) for a in alpha], axis=1)
    return Direct(x, B, eigen.vectors, weights, "eigen")


def _refined(
    problem: LeastSquares, alpha: Float64, B: Float64, x: Float64, solve: Callable[[float, Float64], Float64]
) -> Float64:
    """Refine a solution where decoded values, rounded to single precision, were multiplied: weighted sums of codes."""
    if not isinstance(problem, Primal) or problem.weights is None or isinstance(problem.design, ArrayDesign):
        return x
    best, least = x, np.inf
    for _ in range(3):
        R = B - alpha * x - precise_product(problem, x)
        size = float(np.linalg.norm(R))
        if size < least:
            best = x
        if size > 0.5 * least:
            break
        least = size
        x = x.copy()
        for a in np.unique(alpha):
            some = alpha == a
            x[:, some] += solve(float(a), R[:, some])
    return best


class SinglePrecision:
    """A Cholesky factor in single precision as preconditioner: a few iterations refine its solution."""

    def __init__(self, A: npt.NDArray[np.float32]) -> None:
        self._factor, self._shift = Cholesky(A, strict=False), 0.0

    def factorise(self, alpha: float) -> None:
        """Factorise ``A + alpha I``, or with the least shift beyond it that rounding allows."""
        # The norm bounds eigenvalues from above, by far: errors of the factor are a thousandth of this, and less.
        least = 1e-3 * self._factor.norm * float(np.finfo(np.float32).eps)
        self._shift = max(alpha, least, float(np.finfo(np.float32).tiny))
        while True:
            try:
                self._factor.factor(self._shift)
            except Singular:
                self._shift *= 10
            else:
                return

    def __call__(self, R: Float64, alpha: Float64) -> Float64:
        """``(A + alpha)^-1 R``, nearly; columns are scaled, so that none of them over- or underflows."""
        del alpha
        scale = np.abs(R).max(axis=0, initial=0.0)
        scaled = np.asfortranarray(R / np.where(scale > 0, scale, 1.0), dtype=np.float32)
        return np.asarray(self._factor.solve(self._shift, scaled) * scale)


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
