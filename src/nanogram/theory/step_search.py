"""The least-variance step code of a given shape, in standard units.

Everything here is about ``z ~ N(0, 1)`` and a target ``(h1, h2)``: the Hermite coefficients
``E[z s]`` and ``E[(z^2 - 1) s]`` that the code must reproduce (h1, h2 >= 0; turning ``z`` or ``s``
round changes their signs only). As a factor on all levels is free, only the direction of (h1, h2)
matters, and each search is for the least variance along a fixed direction.

One-parameter families (two and three levels) are walked on a fixed grid, and every change of sign of
the Lagrange condition is closed in on by bracketing; nothing depends on a starting point.

Codes with free levels: given the cells, the least variance is a quadratic problem with the solution
``v_i = lam . c_i``, where ``c_i = (E[z | cell], E[z^2 - 1 | cell])`` and ``M lam = (h1, h2)``,
``M = sum_i p_i c_i c_i^T``; its value is ``(h1, h2) M^-1 (h1, h2)^T``, and its mean is zero.
The derivative in a threshold at ``u`` is ``phi(u) (v - v') ((v + v') - 2 g(u))`` with
``g(u) = lam . (u, u^2 - 1)`` and v, v' the levels on its two sides: at the optimum the cells are the
nearest-level cells of the parabola g, which is why codes folded about its vertex are the best of all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize, root
from scipy.special import ndtr

from .step_moments import cell_probabilities, hermite_pair, normal_density

__all__ = ["UnitCode", "folded", "free", "monotone", "sign_change_roots", "ternary", "threshold"]

#: Below this h1 / h2 a folded code is the even one with its centre moved: the loss of variance is of order (h1 / h2)^2.
NEARLY_EVEN = 3e-3

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class UnitCode(NamedTuple):
    """Thresholds in standard units, the level of each cell, and which stored code each cell has."""

    thresholds: FloatArray
    levels: FloatArray
    codes: IntArray

    @property
    def variance(self) -> float:
        """Var f(z)."""
        p = cell_probabilities(self.thresholds)
        return float(p @ (self.levels - p @ self.levels) ** 2)


def _scaled(u: FloatArray, levels: FloatArray, codes: IntArray, h1: float, h2: float) -> UnitCode:
    """Multiply the levels so that the code's (h1, h2), already in the right direction, has the right size."""
    own = hermite_pair(u, levels)
    factor = (own[0] * h1 + own[1] * h2) / (own[0] ** 2 + own[1] ** 2)
    return UnitCode(u, levels * factor, codes)


def sign_change_roots(function: Callable[[float], float], grid: FloatArray) -> list[float]:
    """All roots that a scan of the grid brackets, to the last few bits."""
    values = np.array([function(float(x)) for x in grid])
    ends = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    found = [float(brentq(function, grid[i], grid[i + 1], xtol=1e-14, rtol=1e-14)) for i in ends]
    return found + [float(x) for x in grid[values == 0.0]]


def _least(candidates: list[UnitCode]) -> UnitCode:
    """The candidate of least variance; among equals (1e-12) the first, so that mirror images do not toss a coin."""
    best = candidates[0]
    for code in candidates[1:]:
        if code.variance < best.variance * (1 - 1e-12):
            best = code
    return best


# --------------------------------------------------------------------------- two and three levels


def threshold(h1: float, h2: float) -> UnitCode:
    """Two increasing levels: the threshold is h2 / h1, whatever the amplitude."""
    return _scaled(np.array([h2 / h1]), np.array([-1.0, 1.0]), np.array([0, 1]), h1, h2)


def ternary(h1: float, h2: float) -> UnitCode:
    """Levels v(-1, 0, 1) with the two thresholds of least variance.

    Matching the ratio r = h2 / h1 means ``(u+ - r) phi(u+) = (r - u-) phi(u-)``. The right side rises
    from zero to its top at ``(r - sqrt(r^2 + 4)) / 2`` and falls to zero at r, so each ``u+ > r`` has two
    partners: one on either side of the top. Both branches are searched.
    """
    ratio = h2 / h1
    three, codes = np.array([-1.0, 0.0, 1.0]), np.arange(3)
    if ratio == 0:
        # Symmetric thresholds: Q / phi^2 is least where 2 u Q = phi.
        u = float(brentq(lambda x: 2 * x * ndtr(-x) - float(normal_density(x)), 0.1, 2.0, xtol=1e-15))
        return _scaled(np.array([-u, u]), three, codes, h1, h2)
    top = (ratio - np.hypot(ratio, 2)) / 2

    def height(u: float) -> float:
        # Relative to phi(ratio), so that rare codes do not underflow.
        return (u - ratio) * float(np.exp(0.5 * (ratio - u) * (ratio + u)))

    def partner(above: float, far: bool) -> float:
        low, high = (-float(np.sqrt(above * above + 64)), top) if far else (top, ratio)
        return float(brentq(lambda u: height(u) + height(above), low, high, xtol=1e-15, rtol=1e-14))

    def stationarity(step: float, far: bool) -> float:
        up = ratio + step
        down = partner(up, far)
        above, below = ndtr(-up), ndtr(down)
        variance = above + below - (above - below) ** 2
        slope = normal_density(up) + normal_density(down)
        turn_up, turn_down = (1 - u * (u - ratio) for u in (up, down))
        return float(
            (2 * up / slope - (1 - 2 * (above - below)) / variance) * turn_down
            - (2 * down / slope + (1 + 2 * (above - below)) / variance) * turn_up
        )

    grid = np.concatenate([np.geomspace(1e-4, 0.05, 24), np.linspace(0.06, 4.0, 160)])
    candidates = []
    for far in (False, True):
        for step in sign_change_roots(partial(stationarity, far=far), grid):
            pair = np.array([partner(ratio + step, far), ratio + step])
            candidates.append(_scaled(pair, three, codes, h1, h2))
    if not candidates:
        raise ValueError(f"no three-level code v(-1, 0, 1) of least variance was found for h2/h1 = {ratio:.6g}")
    return _least(candidates)


def _band(h1: float, h2: float) -> UnitCode:
    """Two levels, one of them on a band: f high outside [u1, u2].

    Both ends are at one height of ``(h1 u - h2) phi(u)``, on either side of its bottom.
    """
    ratio_inverse = h1 / h2
    # Bottom of (w u - 1) phi(u), w = h1 / h2: w u^2 - u - w = 0, the root that stays finite as w -> 0.
    bottom = -2 * ratio_inverse / (1 + np.hypot(1, 2 * ratio_inverse))
    end = 1 / ratio_inverse if ratio_inverse > 0 else np.inf

    def height(u: float) -> float:
        return (ratio_inverse * u - 1) * float(normal_density(u))

    def partner(u1: float) -> float:
        return float(brentq(lambda u: height(u) - height(u1), bottom, min(end, 40.0), xtol=1e-15, rtol=1e-14))

    def stationarity(step: float) -> float:
        u = np.array([bottom - step, partner(bottom - step)])
        inside = float(cell_probabilities(u)[1])
        density = normal_density(u)
        # Along the family du_k is proportional to 1 / height'(u_k).
        move = 1 / ((ratio_inverse - u * (ratio_inverse * u - 1)) * density)
        ends = np.array([-1.0, 1.0])
        d_inside = float(ends @ (density * move))
        size = float(ends @ (u * density))
        d_size = float(ends @ ((1 - u * u) * density * move))
        return (1 - 2 * inside) * d_inside / (inside * (1 - inside)) - 2 * d_size / size

    candidates = []
    for step in sign_change_roots(stationarity, np.linspace(0.02, 6.0, 300)):
        u = np.array([bottom - step, partner(bottom - step)])
        candidates.append(_scaled(u, np.array([1.0, -1.0, 1.0]), np.array([1, 0, 1]), h1, h2))
    if not candidates:
        raise ValueError(f"no two-level band code was found for h2/h1 = {1 / ratio_inverse:.6g}")
    return _least(candidates)


# --------------------------------------------------------------------------- free levels

Shape = Literal["free", "folded", "even"]


def _cells(u: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """(p_i, p_i c_i) of the stored codes, for thresholds (..., K)."""
    p = cell_probabilities(u)
    density = normal_density(u)
    zero = np.zeros((*u.shape[:-1], 1))
    # The integrals of z phi and (z^2 - 1) phi are -phi and -z phi.
    first = -np.diff(np.concatenate([zero, density, zero], axis=-1), axis=-1)
    second = -np.diff(np.concatenate([zero, u * density, zero], axis=-1), axis=-1)
    weighted = np.stack([first, second], axis=-1)
    if shape != "free":
        middle = u.shape[-1] // 2
        p = np.concatenate([p[..., middle : middle + 1], p[..., middle + 1 :] + p[..., middle - 1 :: -1]], axis=-1)
        weighted = np.concatenate(
            [
                weighted[..., middle : middle + 1, :],
                weighted[..., middle + 1 :, :] + weighted[..., middle - 1 :: -1, :],
            ],
            axis=-2,
        )
    return p, weighted


def _best_levels(u: FloatArray, target: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(variance, lam, level of each stored code) of the best levels for these thresholds."""
    p, weighted = _cells(u, shape)
    centres = weighted / np.maximum(p, 1e-300)[..., None]
    matrix = np.einsum("...ia,...ib->...ab", weighted, centres)
    a, b, c = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if shape == "even":
            lam = np.stack([np.zeros_like(c), target[1] / c], axis=-1)
            sound = c > 1e-14
        else:
            determinant = a * c - b * b
            lam = np.stack([c * target[0] - b * target[1], a * target[1] - b * target[0]], axis=-1)
            lam = lam / determinant[..., None]
            sound = determinant > 1e-12 * a * c
        variance = lam @ target
        values = np.einsum("...ia,...a->...i", centres, lam)
    return np.where(sound & np.isfinite(variance) & (variance > 0), variance, np.inf), lam, values


def _mirrored(n_levels: int) -> IntArray:
    """Cell to stored code for a folded code: 2 1 0 1 2."""
    order = np.arange(n_levels)
    return np.concatenate([order[:0:-1], order])


def _unfold(x: FloatArray, shape: Shape) -> FloatArray:
    """Thresholds from search coordinates: as they are, or the right-hand ones mirrored at the centre."""
    if shape == "free":
        return x
    centre, right = (np.zeros((*x.shape[:-1], 1)), x) if shape == "even" else (x[..., :1], x[..., 1:])
    return np.concatenate([2 * centre - right[..., ::-1], right], axis=-1)


def _gradient(x: FloatArray, target: FloatArray, shape: Shape) -> FloatArray:
    u = _unfold(x, shape)
    _, lam, values = _best_levels(u, target, shape)
    levels = values if shape == "free" else values[_mirrored(len(values))]
    low, high = levels[:-1], levels[1:]
    full = normal_density(u) * (low - high) * (low + high - 2 * (lam[0] * u + lam[1] * (u * u - 1)))
    if shape == "free":
        return np.asarray(full)
    half = len(u) // 2
    left, right = full[half - 1 :: -1], full[half:]
    sides = right - left
    return sides if shape == "even" else np.concatenate([[2 * left.sum()], sides])


def _refine(start: FloatArray, target: FloatArray, shape: Shape) -> tuple[float, FloatArray]:
    """Quasi-Newton descent from the grid, then a root of the gradient, to the last few bits."""

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        ordered = bool(np.all(np.diff(x) > 1e-9)) and (shape != "even" or x[0] > 1e-9)
        variance = float(_best_levels(_unfold(x, shape), target, shape)[0]) if ordered else np.inf
        return (variance, _gradient(x, target, shape)) if np.isfinite(variance) else (1e6, np.zeros_like(x))

    descent = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 200})
    x, value = np.asarray(descent.x), float(descent.fun)
    polished = root(_gradient, x, args=(target, shape), tol=1e-13)
    if np.max(np.abs(polished.x - x)) < 1e-2:
        again = objective(polished.x)[0]
        if again <= value * (1 + 1e-12):
            x, value = polished.x, again
    return value, x


def _search(
    grids: list[FloatArray], target: FloatArray, shape: Shape, *, increasing: bool = False, starts: int = 6
) -> FloatArray | None:
    """Best thresholds over the increasing points of a product grid, refined from its best few regions."""
    points = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
    points = points[np.all(np.diff(points, axis=1) > 1e-9, axis=1)]
    variance, _, values = _best_levels(_unfold(points, shape), target, shape)
    if increasing:
        variance = np.where(np.all(np.diff(values, axis=-1) > 0, axis=-1), variance, np.inf)
    apart = (grids[-1][-1] - grids[-1][0]) / 14
    chosen: list[FloatArray] = []
    for index in np.argsort(variance, kind="stable")[:2000]:
        if not np.isfinite(variance[index]) or len(chosen) == starts:
            break
        if all(np.max(np.abs(points[index] - other)) > apart for other in chosen):
            chosen.append(points[index])
    best: tuple[float, FloatArray] | None = None
    for start in chosen:
        value, x = _refine(start, target, shape)
        if increasing and not np.all(np.diff(_best_levels(x, target, shape)[2]) > 0):
            continue
        if best is None or value < best[0] * (1 - 1e-12):
            best = value, x
    return None if best is None else best[1]


def _assemble(x: FloatArray, target: FloatArray, shape: Shape, h1: float, h2: float) -> UnitCode:
    """The code at these search coordinates; stored codes are ranks of the levels."""
    u = _unfold(x, shape)
    values = _best_levels(u, target, shape)[2]
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    cells = np.arange(len(values)) if shape == "free" else _mirrored(len(values))
    return _scaled(u, values[cells], rank[cells], h1, h2)


def free(h1: float, h2: float, n_levels: int = 4, *, increasing: bool = False) -> UnitCode | None:
    """n_levels - 1 thresholds and free levels of zero mean, in any order or increasing (then None if there is none)."""
    target = np.array([h1, h2]) / np.hypot(h1, h2)
    # Increasing codes gather round the ratio once it is large; the others never leave the bulk.
    rare = increasing and h1 > 0 and h2 > 1.5 * h1
    grid = h2 / h1 + np.linspace(-1.5, 2.5, 33) if rare else np.linspace(-4.2, 4.2, 33)
    x = _search([grid] * (n_levels - 1), target, "free", increasing=increasing)
    return None if x is None else _assemble(x, target, "free", h1, h2)


def monotone(h1: float, h2: float, n_levels: int) -> UnitCode:
    """Increasing codes: one threshold; v(-1, 0, 1); or four increasing levels, never worse than those."""
    if n_levels == 2:
        return threshold(h1, h2)
    shorter = ternary(h1, h2)
    longer = free(h1, h2, n_levels, increasing=True) if n_levels > 3 else None
    return shorter if longer is None else _least([longer, shorter])


def _shifted(even: UnitCode, h1: float, h2: float) -> UnitCode:
    """The even code folded about the centre c that gives (h1, h2), for small h1 / h2.

    To first order in c every such code has ``h1 = -c h2``, whatever its levels: the search has nothing left to
    choose, and its equations for the levels are singular.
    """

    def excess(centre: float) -> float:
        own = hermite_pair(even.thresholds + centre, even.levels)
        return float(own[0] * h2 - own[1] * h1)

    vertex = -h1 / h2
    centre = float(brentq(excess, 0.5 * vertex, 1.5 * vertex, xtol=1e-300, rtol=1e-14))
    return _scaled(even.thresholds + centre, even.levels, even.codes, h1, h2)


def folded(h1: float, h2: float, n_levels: int) -> UnitCode:
    """Step code of |z - c|: n_levels levels, 2 (n_levels - 1) thresholds; c = 0 when h1 = 0 (an even code)."""
    if n_levels == 2:
        return _band(h1, h2)
    if 0 < h1 < NEARLY_EVEN * h2:
        return _shifted(folded(0.0, h2, n_levels), h1, h2)
    target = np.array([h1, h2]) / np.hypot(h1, h2)
    if h1 == 0:
        shape: Shape = "even"
        x = _search([np.linspace(0.1, 4.0, 27)] * (n_levels - 1), target, shape)
    else:
        shape, vertex = "folded", -h1 / h2
        right = np.linspace(max(-3.5, vertex), 4.2, 28 if n_levels == 3 else 20)
        x = _search([np.sort(vertex * np.array([0.3, 0.6, 0.8, 1.0, 1.3])), *[right] * (n_levels - 1)], target, shape)
    if x is None:
        raise ValueError(f"no folded code of {n_levels} levels was found for h2/h1 = {np.divide(h2, h1):.6g}")
    return _assemble(x, target, shape, h1, h2)
