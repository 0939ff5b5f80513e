"""Minimise an `Objective`: the loop around a solver's steps, with progress, convergence and what to say without it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from ._callbacks import Progress
from ._design import ArrayDesign
from ._objective import Objective, Point
from ._preconditioner import row_norms
from .lbfgs import lbfgs
from .newton import newton

__all__ = ["SOLVERS", "Origin", "Result", "Stop", "minimise"]

Float64 = npt.NDArray[np.float64]
Solver = Callable[[Objective, Point, Float64, Float64, float], Iterator[Point]]
#: Name: solver, most iterations by default.
SOLVERS: dict[str, tuple[Solver, int]] = {"newton-cg": (newton, 100), "lbfgs": (lbfgs, 1000)}
#: Below this part of the reference, gradients from products of precision "float32" begin to be rounding noise ...
ROUGH = 1e-4
#: ... which matters to a tol below this.
FINE = 1e-5
#: Arrays of no more entries than this are fitted to `SMALL_TOL` by Newton's method unless a tol is given: products are
#: of doubles, one or two more iterations of milliseconds give all digits, and where F is flat coefficients move far in
#: them. Codes are multiplied to less, and in two parts for more.
SMALL, SMALL_TOL = 1_000_000, 1e-10
#: Of larger features, as of scikit-learn's LogisticRegression: the largest entry of the gradient of the mean loss; and
#: the relative gradient, without which features of small values would be at their goal from the start.
MEAN_TOL, LARGE_TOL = 1e-4, 1e-3
#: Iterations without a smaller gradient or a lower value than before, after which there is no going on.
PATIENCE = 8
#: Part of a value that may be rounding.
ROUNDING = 1e-9


class Origin(NamedTuple):
    """The point of zero coefficients, and what gradients are compared with.

    The reference is the larger of the norm of the gradient there and, for data where that happens to vanish, of
    ``|Z|_F |r| / sqrt(n)``: what it were if the loss's derivatives r there had random signs.
    """

    point: Point
    #: By problem.
    reference: Float64
    #: Squared norms of rows, (n,), or about that (`row_norms`).
    norms: Float64

    @classmethod
    def of(cls, objective: Objective, intercept: Float64) -> Origin:
        """With this intercept, the best one for zero coefficients or near it."""
        norms = row_norms(objective.design)
        point = objective.constant(intercept)
        size = np.sqrt(objective.dot(point.gradient, point.gradient))
        residuals = objective.residual_norms(point)
        reference = np.maximum(size, np.sqrt(norms.sum() / objective.n) * residuals)
        # Features that are all 0 leave an intercept, which is a feature of ones.
        return cls(point, np.where(norms.any(), reference, np.sqrt(objective.n) * residuals), norms)


class Stop(NamedTuple):
    """When to end: at ``tol``; ``enough`` is what counts as converged where rounding lets a solver go no further.

    With ``largest`` no entry of the gradient may be above it either, unless its norm is at `FINE`.
    """

    tol: float
    enough: float
    largest: float = np.inf

    @classmethod
    def of(cls, tol: float | None, objective: Objective, solver: str, *, mean: bool = False) -> Stop:
        """The tol given, or what None means; ``mean``: scikit-learn's bound on the mean loss, of large features."""
        if tol is not None:
            return cls(tol, tol)
        if mean and objective.n * objective.m > SMALL:
            total = float(objective.n) if objective.weights is None else float(objective.weights[:, 0].sum())
            return cls(LARGE_TOL, LARGE_TOL, MEAN_TOL * total)
        small = solver == "newton-cg" and objective.n * objective.m <= SMALL
        return cls(SMALL_TOL if small and isinstance(objective.design, ArrayDesign) else FINE, FINE)


class Result(NamedTuple):
    """Where a solver ended."""

    point: Point
    n_iter: int
    converged: bool
    #: By a callback or Ctrl-C.
    stopped: bool


def minimise(
    objective: Objective,
    origin: Origin,
    *,
    start: Point | None,
    solver: str,
    stop: Stop,
    max_iter: int | None,
    tick: Progress,
    model: Callable[[Float64], dict[str, Any]],
    warn: bool = True,
) -> Result:
    """Minimise F until its gradient's norm is at most ``stop.tol`` times the reference, for each problem.

    Parameters
    ----------
    objective : Objective
    origin : Origin
    start : Point or None
        Where to start; None: the origin.
    solver : str
        A key of `SOLVERS`.
    stop : Stop
        See above.
    max_iter : int or None
        None: what the solver commonly needs, many times over.
    tick : Progress
        Entered.
    model : callable
        Fitted attributes of parameters.
    warn : bool, default=True
        Whether to warn of a fit that has not converged.
    """
    tol, enough = stop.tol, stop.enough
    steps, most = SOLVERS[solver]
    most = most if max_iter is None else max_iter
    point = origin.point if start is None else start
    points = steps(objective, point, origin.reference, origin.norms, tol)
    relative = _relative(objective, point, origin.reference)

    def done(least: float) -> bool:
        return relative <= least and (relative <= FINE or float(np.abs(point.gradient).max()) <= stop.largest)

    least, lowest = np.inf, np.inf
    count = since = 0
    stopped = stalled = False
    try:
        while not done(tol) and count < most and not stopped and not stalled:
            if tol < FINE and relative < ROUGH:
                objective.precise = True
            point = next(points)
            relative, count = _relative(objective, point, origin.reference), count + 1
            stopped = tick(
                model=partial(model, point.theta),
                objective=float(point.value.sum()),
                gradient=relative,
                products=objective.n_products,
            )
            value = float(point.value.sum())
            since = 0 if relative < 0.99 * least or value < lowest - ROUNDING * abs(value) else since + 1
            least, lowest = min(least, relative), min(lowest, value)
            if since >= PATIENCE:
                objective.precise, stalled, since = True, objective.precise, 0
    except KeyboardInterrupt:
        if not tick.count:
            raise
        tick.interrupted = stopped = True
        message = f"interrupted after {tick.count} iterations; the best model so far is kept"
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
    if not done(enough) and not stopped and warn:
        advise(count, f"a gradient of {relative:.1e} of that at the start", enough, solver, stalled)
    return Result(point, count, done(enough), stopped)


def _relative(objective: Objective, point: Point, reference: Float64) -> float:
    """The largest of all problems' gradients, relative to the reference."""
    sizes = np.sqrt(objective.dot(point.gradient, point.gradient))
    relative = np.where(sizes > 0, sizes / np.where(reference > 0, reference, 1.0), 0.0)
    return float(np.where(point.finite, relative, np.inf).max(initial=0.0))


def advise(count: int, reached: str, tol: float, solver: str, stalled: bool = False) -> None:
    """Warn of a fit that has not converged, and say what would help."""
    if stalled:
        advice = "no step makes it smaller: this tol is below what rounding allows, a larger one accepts it"
    else:
        advice = "raise max_iter, a larger tol accepts it, more penalty (a smaller C, a larger alpha) converges faster"
        if solver != "newton-cg":
            advice += ", solver='newton-cg' needs fewer passes"
    warnings.warn(
        f"{solver} stopped after {count} iterations with {reached}, above tol={tol}: {advice}",
        ConvergenceWarning,
        stacklevel=6,
    )
