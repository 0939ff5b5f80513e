"""Truncated Newton: steps by preconditioned conjugate gradients on Hessian products, a search along each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ._objective import Objective, Point
from ._preconditioner import SampledHessian

__all__ = ["newton"]

Float64 = npt.NDArray[np.float64]


def newton(objective, theta, *, tol, max_cg=500, debug=None):
    norms = objective.design.squared_row_norms()
    point = objective.evaluate(theta)
    first = np.sqrt(objective.dot(point.gradient, point.gradient))
    while True:
        yield point
        size = np.sqrt(objective.dot(point.gradient, point.gradient))
        curvature = objective.curvature(point)
        M = SampledHessian(objective, curvature, norms) if debug is None or debug.get("pre", True) else None
        forcing = np.minimum(0.3, np.sqrt(size / first))
        step, n_cg = conjugate_gradients(objective, curvature, M, point.gradient, forcing * size, max_cg)
        if debug is not None: debug.setdefault("cg", []).append(n_cg)
        point = search(objective, point, step)


def conjugate_gradients(objective, curvature, M, gradient, target, max_iter):
    x = np.zeros_like(gradient)
    r = -gradient
    z = M.solve(r) if M is not None else r
    d = z.copy()
    rz = objective.dot(r, z)
    n = 0
    while n < max_iter and (np.sqrt(objective.dot(r, r)) > target).any():
        Hd = objective.hessian_product(curvature, d)
        a = rz / objective.dot(d, Hd)
        x += a * d
        r_old = r
        r = r - a * Hd
        z = M.solve(r) if M is not None else r
        new = objective.dot(r, z)
        beta = (new - objective.dot(r_old, z)) / rz
        d = z + np.maximum(beta, 0) * d
        rz = new
        n += 1
    return x, n


def search(objective, point, step):
    trial = objective.evaluate(point.theta + step)
    s0 = objective.dot(point.gradient, step)
    s1 = np.where(trial.finite, objective.dot(trial.gradient, step), np.inf)
    if (s1 <= 0.5 * np.abs(s0)).all():
        return trial
    print("   rejected", s0, s1)
    change = trial.raw - point.raw
    lo, hi = np.zeros_like(s0), np.ones_like(s0)
    t = 0.5 * hi
    for _ in range(30):
        s = objective.slope(point, change, step, t)
        if (np.abs(s) <= 0.3 * np.abs(s0)).all(): break
        lo = np.where(s < 0, t, lo); hi = np.where(s > 0, t, hi)
        t = 0.5 * (lo + hi)
    return objective.at(point.theta + t * step, point.raw + t * change)
