"""How far to go along a step: trial at its end, then by slopes, which cost no pass over the features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._objective import Columns, Objective, Point

__all__ = ["search"]

Float64 = npt.NDArray[np.float64]
#: A slope of this part of the first one, or less, ends the search; one below `-SHORT` of it asks to go further.
ENOUGH = 0.5
SHORT = 0.95
#: Values this close are equal: they are known to the precision of products.
ROUNDING = 1e-7
MOST_TRIALS = 60


def search(objective: Objective, point: Point, step: Float64, columns: Columns = None) -> Point:
    """A point along the step where F is lower and its slope is at most half of what it was, for each problem.

    Convex losses make the slope increase along the step, so that bisection finds such a place wherever it is. The end
    of the step is evaluated in one pass and mostly does. Raw predictions between are known then, and another place
    costs one product.
    """
    first = objective.dot(point.gradient, step)
    trial = objective.evaluate(point.theta + step, columns)
    last = np.where(trial.finite, objective.dot(trial.gradient, step), np.inf)
    with np.errstate(invalid="ignore"):
        lower = trial.value <= point.value + ROUNDING * np.abs(point.value)
    good = lower & (last <= ENOUGH * -first) & (last >= -SHORT * -first)
    # A direction that does not descend is rounding noise: stay.
    going = first < 0.0
    if (good | ~going).all() and going.all():
        return trial
    change = trial.raw - point.raw
    t = _places(objective, point, step, change, first, last, good, columns)
    t = np.where(going, t, 0.0)
    return objective.at(point.theta + t * step, point.raw + t * change, columns)


def _places(
    objective: Objective,
    point: Point,
    step: Float64,
    change: Float64,
    first: Float64,
    last: Float64,
    good: npt.NDArray[np.bool_],
    columns: Columns,
) -> Float64:
    """By problem, t at which the slope is between -0.5 and 0.5 of the first: by doubling, then by halving."""
    low, high = np.zeros_like(first), np.full_like(first, np.inf)
    t, slope, done = np.ones_like(first), last, good.copy()
    for _ in range(MOST_TRIALS):
        done |= np.abs(slope) <= ENOUGH * np.abs(first)
        if done.all():
            break
        low = np.where(~done & (slope < 0), t, low)
        high = np.where(~done & (slope > 0), t, high)
        middle = np.where(np.isinf(high), 2.0 * t, 0.5 * (low + np.where(np.isinf(high), 0.0, high)))
        t = np.where(done, t, middle)
        slope = objective.slope(point, change, step, t, columns)
    return np.where(done, t, low)
