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
from ._objective import Objective, Point
from .lbfgs import lbfgs
from .newton import newton

__all__ = ["SOLVERS", "Result", "minimise"]

Float64 = npt.NDArray[np.float64]
Solver = Callable[[Objective, Point, Float64, Float64, float], Iterator[Point]]
#: Name: solver, most iterations by default.
SOLVERS: dict[str, tuple[Solver, int]] = {"newton-cg": (newton, 100), "lbfgs": (lbfgs, 1000)}
#: Below this part of the reference, gradients from products of precision "float32" begin to be rounding noise ...
ROUGH = 1e-4
#: ... which matters to a tol below this.
FINE = 1e-5
#: Iterations without a gradient smaller than before, after which there is no going on.
PATIENCE = 8


class Result(NamedTuple):
    """Where a solver ended."""

    theta: Float64
    #: Raw predictions, (n, k).
    raw: Float64
    #: F, by problem.
    value: Float64
    n_iter: int
    converged: bool


def minimise(
    objective: Objective,
    intercept: Float64,
    *,
    start: Float64 | None,
    solver: str,
    tol: float,
    max_iter: int | None,
    tick: Progress,
    model: Callable[[Float64], dict[str, Any]],
    warn: bool = True,
) -> Result:
    """Minimise F until its gradient's norm is at most ``tol`` times the reference, for each problem.

    The reference is the larger of the norm of the gradient at zero coefficients (and ``intercept``) and, for data
    where that happens to vanish, of ``|Z|_F |r| / sqrt(n)``: what it were if the loss's derivatives r there had random
    signs.

    Parameters
    ----------
    objective : Objective
    intercept : array of shape (k,)
        The best, or a good one, for zero coefficients.
    start : array of shape (size, k) or None
        Where to start; None: zero coefficients.
    solver : str
        A key of `SOLVERS`.
    tol, max_iter
        See above; None: what the solver commonly needs, many times over.
    tick : Progress
        Entered.
    model : callable
        Fitted attributes of parameters.
    warn : bool, default=True
        Whether to warn of a fit that has not converged.
    """
    steps, most = SOLVERS[solver]
    most = most if max_iter is None else max_iter
    norms = objective.design.squared_row_norms()
    point = objective.constant(intercept)
    size = np.sqrt(objective.dot(point.gradient, point.gradient))
    expected = np.sqrt(norms.sum() / objective.n) * objective.residual_norms(point)
    reference = np.maximum(size, expected)
    if start is not None:
        point = objective.evaluate(start)
    count, since = 0, 0
    best = np.inf
    stalled = False
    points = steps(objective, point, reference, norms, tol)
    try:
        while True:
            relative = _relative(objective, point, reference)
            if relative <= tol or count >= most or stalled:
                break
            if not objective.precise and tol < FINE and relative < ROUGH:
                objective.precise = True
            point = next(points)
            count += 1
            stop = tick(
                model=partial(model, point.theta),
                objective=float(point.value.sum()),
                gradient=_relative(objective, point, reference),
                products=objective.n_products,
            )
            since = 0 if _relative(objective, point, reference) < 0.99 * best else since + 1
            best = min(best, _relative(objective, point, reference))
            if since >= PATIENCE:
                stalled, since = objective.precise, 0
                objective.precise = True
            if stop:
                return Result(point.theta, point.raw, point.value, count, True)
    except KeyboardInterrupt:
        if not tick.count:
            raise
        tick.interrupted = True
        message = f"interrupted after {count} iterations; the best model so far is kept"
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
        return Result(point.theta, point.raw, point.value, count, False)
    converged = relative <= tol
    if not converged and warn:
        _warn(count, relative, tol, solver, stalled)
    return Result(point.theta, point.raw, point.value, count, converged)


def _relative(objective: Objective, point: Point, reference: Float64) -> float:
    """The largest of all problems' gradients, relative to the reference."""
    sizes = np.sqrt(objective.dot(point.gradient, point.gradient))
    relative = np.where(sizes > 0, sizes / np.where(reference > 0, reference, 1.0), 0.0)
    return float(np.where(point.finite, relative, np.inf).max(initial=0.0))


def _warn(count: int, relative: float, tol: float, solver: str, stalled: bool) -> None:
    if stalled:
        advice = "no step makes it smaller: this tol is below what rounding allows, a larger one accepts it"
    else:
        advice = "raise max_iter, a larger tol accepts it, more penalty (a smaller C, a larger alpha) converges faster"
        if solver != "newton-cg":
            advice += ", solver='newton-cg' needs fewer passes"
    warnings.warn(
        f"{solver} stopped after {count} iterations with a gradient of {relative:.1e} of that at the start, above "
        f"tol={tol}: {advice}",
        ConvergenceWarning,
        stacklevel=5,
    )
