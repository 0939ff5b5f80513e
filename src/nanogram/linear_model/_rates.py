"""Where stochastic gradients start: the best constant prediction, and a learning rate that is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nanogram.projections import Stream

from ._design import Design
from .losses import BinaryLogistic, Loss, MultinomialLogistic, Poisson

if TYPE_CHECKING:
    from .sgd import Problem

__all__ = ["Sample", "first_rate", "sample_rows", "spread_of", "start_intercept"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
#: Rows looked at.
SAMPLE = 1024
#: Rows that a constant prediction is fitted to.
TARGETS = 1 << 16
_POWER_STEPS = 20


class Sample(NamedTuple):
    """Some of the training rows."""

    design: Design
    ids: Int64


def sample_rows(design: Design, rows: Int64, seed: int) -> Sample:
    """Up to `SAMPLE` training rows."""
    ids = rows
    if len(rows) > SAMPLE:
        ids = rows[np.sort(Stream(seed, "sgd.sample").permutation(len(rows))[:SAMPLE])]
    return Sample(design if len(ids) == design.shape[0] else design.rows(ids), ids)


def start_intercept(loss: Loss, y: Array, weights: Float64 | None, rows: Int64, k: int) -> Float64:
    """The constant prediction of least loss, column by column; finite where the best one is not."""
    rows = rows[:: -(-len(rows) // TARGETS)]
    y = y[rows]
    w = np.ones(len(rows)) if weights is None else weights[rows]
    if isinstance(loss, MultinomialLogistic):
        counts = np.bincount(y, weights=w, minlength=k)
        logs = np.log(np.maximum(counts, 1e-3 * w.mean()))
        return np.asarray(logs - logs.mean())
    # The slope grows with the prediction: bracket its zero, then bisect.
    cap = 32.0 if isinstance(loss, BinaryLogistic | Poisson) else 2.0**200
    slope = _Slope(loss, y, w)
    low, high = np.full(k, -1.0), np.full(k, 1.0)
    while (open_ := (slope(low) > 0) & (low > -cap)).any():
        low[open_] *= 2.0
    while (open_ := (slope(high) < 0) & (high < cap)).any():
        high[open_] *= 2.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        above = slope(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(0.5 * (low + high))


class _Slope:
    """Derivative of the weighted loss of a constant prediction, by column."""

    def __init__(self, loss: Loss, y: Array, w: Float64) -> None:
        self.loss, self.y, self.w = loss, y, w

    def __call__(self, f: Float64) -> Float64:
        with np.errstate(over="ignore"):
            return np.asarray(self.w @ self.loss.gradient(self.y, np.broadcast_to(f, self.y.shape)))


def spread_of(sample: Sample, centre: Float64 | None, batch_size: int) -> float:
    """``lambda + t / B``: the largest eigenvalue of the rows' covariance about c, and their mean square over B.

    It bounds the second moment of a batch's matrix over its mean, for rows of equal norm: stochastic gradients for
    least squares shrink the squared distance from the solution below a rate of twice its inverse.
    """
    design = sample.design
    n, m = design.shape
    trace = float(design.squared_row_norms().mean())
    if centre is not None:
        trace = max(trace - float(centre @ centre), 0.0)
    x = Stream(0, "sgd.power").normal(m, 1)[:, 0].astype(np.float64)
    largest = 0.0
    for _ in range(_POWER_STEPS):
        size = float(np.linalg.norm(x))
        if size == 0.0:
            break
        x /= size
        f = design.matvec(x, "fast")
        if centre is not None:
            f -= centre @ x
        x = design.rmatvec(f, "fast") / n
        if centre is not None:
            x -= centre * f.mean()
        largest = float(np.linalg.norm(x))
    return max(largest + trace / batch_size, 1e-300)


def first_rate(problem: Problem, spread: float, momentum: float, b: Float64) -> float:
    r"""A learning rate that is safe: ``1 / (L spread + penalty)``, L a bound of the curvature of the loss.

    With momentum it is ``1 - momentum`` times that, as a velocity sums up gradients.
    """
    y = problem.y[problem.sample.ids]
    curvature = _curvature(problem.loss, y, problem.k, b)
    if curvature == 0.0:  # a loss of slope about 1: a step moves predictions by the spread of the targets
        curvature = 1.0 / max(float(np.abs(y - b).mean()), 1e-300)
    rate = (1.0 - momentum) / (curvature * spread + problem.penalty)
    return float(min(rate, 1e12))


def _curvature(loss: Loss, y: Array, k: int, b: Float64) -> float:
    """A bound of d2l/df2, or its largest value at the start; 0 for losses of straight pieces."""
    if isinstance(loss, BinaryLogistic):
        return 0.25
    if isinstance(loss, MultinomialLogistic):
        return 0.5
    values = loss.curvature(y, np.broadcast_to(b, (len(y), k)))
    return float(values.max(initial=0.0)) if np.isfinite(values).all() else 0.0
