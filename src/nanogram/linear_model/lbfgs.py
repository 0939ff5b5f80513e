r"""Limited-memory BFGS: directions from the last steps and the changes of the gradient along them.

With the last pairs ``s = theta' - theta`` and ``y = g' - g``, the direction is ``-H g``, H the inverse of the Hessian
that the pairs' two-loop recursion stands for, started at ``(s.y / y.y) I`` of the last pair; the first step takes the
curvature along the gradient instead, by one Hessian product. An iteration is one pass, or one and a half where the
search does not take the whole step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ._objective import Objective, Point
from ._search import search

__all__ = ["lbfgs"]

Float64 = npt.NDArray[np.float64]
#: Pairs that are kept, and bytes that they may take.
PAIRS = 20
PAIR_BYTES = 64 << 20


def lbfgs(objective: Objective, point: Point, reference: Float64, norms: Float64, tol: float) -> Iterator[Point]:
    """Points of falling F, without end. Parameters as `nanogram.linear_model.newton.newton` has them."""
    del reference, norms, tol
    kept = min(PAIRS, max(3, PAIR_BYTES // max(2 * point.theta.nbytes, 1)))
    pairs: deque[tuple[Float64, Float64, Float64]] = deque(maxlen=kept)
    while True:
        step = _first(objective, point) if not pairs else _direction(objective, pairs, point.gradient)
        if (objective.dot(step, point.gradient) >= 0.0).all() and pairs:  # rounding has spoilt the pairs
            pairs.clear()
            step = _first(objective, point)
        after = search(objective, point, step)
        s, y = after.theta - point.theta, after.gradient - point.gradient
        curved = objective.dot(s, y)
        if (curved > 0.0).any():
            pairs.append((s, y, np.where(curved > 0.0, 1.0 / np.where(curved > 0.0, curved, 1.0), 0.0)))
        else:
            pairs.clear()
        point = after
        yield point


def _first(objective: Objective, point: Point) -> Float64:
    """The step to the minimum along the gradient, by the curvature there."""
    g = point.gradient
    curved = objective.dot(g, objective.hessian_product(objective.curvature(point), g))
    squares = objective.dot(g, g)
    return -np.where(curved > 0.0, squares / np.where(curved > 0.0, curved, 1.0), 1.0) * g


def _direction(objective: Objective, pairs: deque[tuple[Float64, Float64, Float64]], gradient: Float64) -> Float64:
    """``-H g`` by the two-loop recursion."""
    q = -gradient
    factors = []
    for s, y, inverse in reversed(pairs):
        a = inverse * objective.dot(s, q)
        q = q - a * y
        factors.append(a)
    s, y, inverse = pairs[-1]
    squares = objective.dot(y, y)
    q = q * np.where(squares > 0.0, objective.dot(s, y) / np.where(squares > 0.0, squares, 1.0), 1.0)
    for (s, y, inverse), a in zip(pairs, reversed(factors), strict=True):
        q = q + (a - inverse * objective.dot(y, q)) * s
    return q
