r"""Losses without a curvature, or with a scale, by a few smooth problems each.

**Huber** with its scale (`with_scale`): sigma's best value for given residuals is known in closed form, the
coefficients' for given sigma are a smooth problem; the two alternate, each started where the last one ended.

**Piecewise linear losses** (`by_multipliers`): pinball and epsilon-insensitive losses are maxima, ``l(r) = max_t t r -
h(t)`` over an interval of t, with h = 0 or eps |t|. The method of multipliers smooths about the last multipliers t',

    l_mu(r) = max_t t r - h(t) - mu / 2 (t - t')^2  =  the loss smoothed about 0, at r + mu t', less mu t'^2 / 2

so that each problem is a smooth one with shifted targets ``y + mu t'``, and its own multipliers are the next t'. At the
solution the shift makes up for the smoothing: mu need not vanish. With the multipliers D(t) is a lower bound on F,
up to how well the smooth problem is solved, and F - D(t) a bound on what is left to gain.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ._minimise import Result
from ._objective import Objective, Point
from .losses import EpsilonInsensitive, Huber, Pinball

__all__ = ["Fit", "by_multipliers", "huber_scale", "unsmoothed", "with_scale"]

Float64 = npt.NDArray[np.float64]
#: Minimises the objective as it is now, from a point (None: from zero coefficients), to a tolerance.
Fit = Callable[[Point | None, float], Result]
#: Most smooth problems.
MOST_ROUNDS = 60
#: A gap that falls by less than this asks for less smoothing.
FALL = 0.2
#: Of mu from one problem to the next.
SHARPEN = 0.25


def huber_scale(residuals: Float64, weights: Float64 | None, epsilon: float) -> float:
    r"""The sigma that minimises ``sum_i s_i (sigma + sigma H_eps(r_i / sigma))``.

    There ``sum_i s_i min((r_i / sigma)^2, eps^2) = sum_i s_i``. With residuals in order the left side is known at each
    ``sigma = |r_i| / eps``; between two neighbours it is a quadratic equation. 0 where no sigma above 0 is best:
    residuals other than zero have less than 1 / eps^2 of the weight.
    """
    size = np.abs(residuals)
    order = np.argsort(size)
    size = size[order]
    s = np.ones(len(size)) if weights is None else weights[order]
    squares, mass = np.cumsum(s * size**2), np.cumsum(s)
    total = mass[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(size > 0, epsilon**2 * (squares / size**2 + total - mass), np.inf)
    # It falls as sigma grows: the first place where it is not more than the total.
    place = int(np.argmax(left <= total)) if (left <= total).any() else len(size)
    inside = squares[place - 1] if place else 0.0
    outside = total - (mass[place - 1] if place else 0.0)
    rest = total - epsilon**2 * outside
    return float(np.sqrt(inside / rest)) if inside > 0.0 and rest > 0.0 else 0.0


def with_scale(objective: Objective, fit: Fit, start: Point | None, sigma: float, tol: float) -> tuple[Result, float]:
    """Coefficients and sigma together, from a first sigma above 0."""
    loss = objective.loss
    assert isinstance(loss, Huber), "the loss with a scale"
    y, weights = objective.y[:, 0], None if objective.weights is None else objective.weights[:, 0]
    least = 1e-10 * sigma
    change = np.inf
    for _ in range(MOST_ROUNDS):
        loss.sigma = sigma
        # Early scales are not worth a precise solution.
        result = fit(start, float(np.clip(1e-2 * change, tol, 1e-2)))
        after = max(huber_scale(y - result.point.raw[:, 0], weights, loss.epsilon), least)
        change, sigma = abs(after / sigma - 1.0), after
        if result.stopped or not result.converged or change <= tol:
            break
        loss.sigma = sigma
        start = objective.at(result.point.theta, result.point.raw)
    return result, sigma


def by_multipliers(
    objective: Objective, fit: Fit, start: Point, mu: float, unit: float, tol: float
) -> tuple[Result, float]:
    """Coefficients for a `Pinball` or `EpsilonInsensitive` loss, and ``F - D(t)`` over ``unit``."""
    loss, y = objective.loss, objective.y
    assert isinstance(loss, Pinball | EpsilonInsensitive), "a piecewise linear loss"
    t, gap = np.zeros_like(y), np.inf
    point: Point | None = start
    result = None
    for _ in range(MOST_ROUNDS):
        loss.mu, objective.y = mu, y + mu * t
        if result is not None:
            point = objective.at(result.point.theta, result.point.raw)
        result = fit(point, float(np.clip(1e-2 * gap, 0.1 * tol, 1e-2)))
        t = -loss.gradient(objective.y, result.point.raw)
        before, gap = gap, _gap(objective, result.point, y, t) / unit
        if result.stopped or gap <= tol:
            break
        if gap > FALL * before:
            mu *= SHARPEN
    assert result is not None, "there is a round"
    loss.mu, objective.y = 0.0, y
    return result, gap


def unsmoothed(loss: Pinball | EpsilonInsensitive) -> Pinball | EpsilonInsensitive:
    """The loss itself, mu = 0."""
    exact = copy.copy(loss)
    exact.mu = 0.0
    return exact


def _gap(objective: Objective, point: Point, y: Float64, t: Float64) -> float:
    """``F - D(t)``, with D(t) = sum_i s_i (t_i y_i - h(t_i)) - |Z^T S t|^2 / (2 penalty)."""
    loss = objective.loss
    assert isinstance(loss, Pinball | EpsilonInsensitive), "others have no multipliers"
    s = 1.0 if objective.weights is None else objective.weights
    value = float((s * unsmoothed(loss).value(y, point.raw)).sum())
    h = loss.epsilon * np.abs(t) if isinstance(loss, EpsilonInsensitive) else 0.0
    W = point.theta[: objective.m]
    penalty = 0.5 * objective.penalty * float((W * W).sum())
    dual = float((s * (t * y - h)).sum())
    if objective.penalty:
        back = objective.penalty * W - point.gradient[: objective.m]
        dual -= 0.5 * float((back * back).sum()) / objective.penalty
    return abs(value + penalty - dual)
