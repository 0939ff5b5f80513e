"""The curve on which a sample Gram matrix has its spectrum, in the coordinate u = z (1 + delta(z)).

With H the eigenvalues lambda of Phi (weights w, so that sum w = n) and m features,

    delta(z) = (1/m) tr Phi (Phi/(1 + delta) - z I)^-1    becomes
    z(u) = u + (1/m) sum_k w_k lambda_k u/(u - lambda_k)

whose inverse maps the upper half-plane into itself (-1/u is the Stieltjes transform of the companion matrix). From it:

    z'(u) = 1 - f(u)/m,  f(u) = sum_k w_k lambda_k^2 / (u - lambda_k)^2          (Silverstein and Choi 1995)
    Im z(a + ib) = b (1 - (1/m) sum_k w_k lambda_k^2 / ((a - lambda_k)^2 + b^2))

f is convex between neighbouring eigenvalues, so that the real u with f(u) < m are an interval in each gap, or none:
its image is a gap of the spectrum, and everything else is support. Over the support b(a) is the one root of the
second line, found by bisection, and Re z grows with a. Nothing is thresholded and nothing can fail to converge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Atoms",
    "Cell",
    "bisect_rising",
    "cells",
    "height",
    "invert",
    "newton",
    "resolvent_sum",
    "slope_sum",
    "z_of_u",
]

Floats = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]

#: Entries of one block of (points, eigenvalues).
_BLOCK = 2**21
_HALVINGS = 100


class Atoms(NamedTuple):
    """Positive eigenvalues, increasing and distinct, how many of each, and the number m of features."""

    values: Floats
    weights: Floats
    m: float


class Cell(NamedTuple):
    """Part of the real u axis over which there is spectrum: from ``left`` to ``right``, holding atoms [first, last)."""

    left: float
    right: float
    first: int
    last: int


def _blocks(count: int, atoms: Atoms) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, len(atoms.values)))
    yield from (slice(start, start + step) for start in range(0, count, step))


def z_of_u(u: npt.NDArray[np.complex128] | Floats, atoms: Atoms) -> Complexes:
    """z(u), elementwise."""
    flat = np.ravel(np.asarray(u, dtype=np.complex128))
    out = np.empty_like(flat)
    for block in _blocks(len(flat), atoms):
        part = flat[block]
        out[block] = part * (1 + (1 / (part[:, None] - atoms.values)) @ (atoms.weights * atoms.values) / atoms.m)
    return out.reshape(np.shape(u))


def resolvent_sum(u: Complexes, weights: Floats, atoms: Atoms) -> Complexes:
    """Sum of weights_k/(u - lambda_k), elementwise."""
    out = np.empty_like(u)
    with np.errstate(divide="ignore", invalid="ignore"):
        for block in _blocks(len(u), atoms):
            out[block] = (1 / (u[block, None] - atoms.values)) @ weights
    return out


def slope_sum(a: Floats, b: Floats, atoms: Atoms) -> Floats:
    """(1/m) sum_k w_k lambda_k^2 / ((a - lambda_k)^2 + b^2), for vectors a and b."""
    out = np.empty(len(a))
    power = atoms.weights * atoms.values**2 / atoms.m
    with np.errstate(divide="ignore"):
        for block in _blocks(len(a), atoms):
            out[block] = (1 / ((a[block, None] - atoms.values) ** 2 + b[block, None] ** 2)) @ power
    return out


def height(a: Floats, atoms: Atoms) -> Floats:
    """b(a) >= 0 with slope_sum(a, b) = 1; 0 where slope_sum(a, 0) <= 1."""
    top = np.full(len(a), np.sqrt(np.sum(atoms.weights * atoms.values**2) / atoms.m))
    inside = slope_sum(a, np.zeros(len(a)), atoms) > 1
    out = np.zeros(len(a))
    if not inside.any():
        return out
    # 1/sum is nearly linear in b^2: Newton's steps on it, guarded by bisection.
    power = atoms.weights * atoms.values**2 / atoms.m
    active = np.flatnonzero(inside)
    low, high = np.zeros(len(a)), top.copy()
    b = top.copy()
    for _ in range(_HALVINGS):
        value, slope = np.empty(len(active)), np.empty(len(active))
        for block in _blocks(len(active), atoms):
            which = active[block]
            inverse = 1 / ((a[which, None] - atoms.values) ** 2 + b[which, None] ** 2)
            value[block] = inverse @ power
            slope[block] = (inverse * inverse) @ power
        now = b[active]
        low[active] = np.where(value > 1, now, low[active])
        high[active] = np.where(value > 1, high[active], now)
        guess = np.sqrt(np.maximum(now * now + (value - 1) * value / slope, 0))
        least, most = low[active], high[active]
        middle = np.where(least > 0, np.sqrt(least * most), most / 16)
        b[active] = np.where((guess >= least) & (guess <= most) & (guess > 0), guess, middle)
        settled = (np.abs(b[active] - now) <= 1e-14 * now) | (most - least <= 4e-16 * most) | (most < 1e-300)
        active = active[~settled]
        if not len(active):
            break
    out[inside] = b[inside]
    return out


def bisect_rising(values: Floats, low: Floats, high: Floats, function: Callable[[Floats], Floats]) -> Floats:
    """Root x in [low, high] of function(x) = values, for a function that rises; elementwise, to the last bits."""
    low, high = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = function(middle) < values
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if np.all(high - low <= 4e-16 * np.maximum(np.abs(low), np.abs(high))):
            break
    return (low + high) / 2


# ---------------------------------------------------------------------- where the spectrum is


def cells(atoms: Atoms) -> list[Cell]:
    """Maximal intervals of u that carry spectrum, from left to right."""
    values, weights, m = atoms
    power = weights * values**2
    top = values[-1] + np.sqrt(power.sum() / m)
    right_end = float(_last_below(atoms, np.array([values[-1]]), np.array([2 * top]), falling=True)[0])
    rank = float(weights.sum())
    # f(0) is the number of positive eigenvalues. u < 0 below the spectrum where there are more than m of them.
    if rank < m:
        left_end = float(_last_below(atoms, np.array([0.0]), np.array([values[0]]), falling=False)[0])
    elif rank == m:
        left_end = 0.0
    else:
        # f(u) < sum(power) / u^2 for negative u.
        least = -np.sqrt(power.sum() / m)
        left_end = float(_last_below(atoms, np.array([least]), np.array([0.0]), falling=False)[0])
    opens = _open_gaps(atoms)
    lefts, rights, firsts = [left_end], [], [0]
    for gap, low, high in opens:
        rights.append(low)
        lefts.append(high)
        firsts.append(gap + 1)
    rights.append(right_end)
    lasts = [*firsts[1:], len(values)]
    return [Cell(*each) for each in zip(lefts, rights, firsts, lasts, strict=True)]


def _last_below(atoms: Atoms, low: Floats, high: Floats, *, falling: bool) -> Floats:
    """Root of f = m between low and high, where f falls through it (or rises)."""
    zero = np.zeros(1)

    def signed(u: Floats) -> Floats:
        value = slope_sum(u, np.broadcast_to(zero, u.shape), atoms)
        return -value if falling else value

    return bisect_rising(np.full(len(low), -1.0 if falling else 1.0), low, high, signed)


def _open_gaps(atoms: Atoms) -> list[tuple[int, float, float]]:
    """Gaps between eigenvalues k and k + 1 in which f falls below m, and the interval where it does."""
    values, weights, m = atoms
    power = weights * values**2
    if len(values) < 2:
        return []
    # Two neighbours alone: the least of p/(u-l)^2 + q/(r-u)^2 is (p^(1/3) + q^(1/3))^3 / (r-l)^2. More of them,
    # each no further than the far end of the gap, sharpen the bound.
    gaps = np.diff(values)
    bound = (np.cbrt(power[:-1]) + np.cbrt(power[1:])) ** 3 / gaps**2
    for reach in range(1, min(9, len(values) - 1)):
        bound[reach:] += power[: -1 - reach] / (values[1 + reach :] - values[: -1 - reach]) ** 2
        bound[:-reach] += power[1 + reach :] / (values[1 + reach :] - values[: -1 - reach]) ** 2
    candidates = np.flatnonzero(bound < m)
    if not len(candidates):
        return []
    left, right = values[candidates], values[candidates + 1]
    lowest = _lowest(atoms, left, right)
    open_ = slope_sum(lowest, np.zeros(len(lowest)), atoms) < 1
    candidates, left, right, lowest = candidates[open_], left[open_], right[open_], lowest[open_]
    if not len(candidates):
        return []
    low = _last_below(atoms, left, lowest, falling=True)
    high = _last_below(atoms, lowest, right, falling=False)
    return list(zip(candidates.tolist(), low.tolist(), high.tolist(), strict=True))


def _lowest(atoms: Atoms, left: Floats, right: Floats) -> Floats:
    """Where the convex f is least between two eigenvalues: bisection on its slope."""
    power = atoms.weights * atoms.values**2

    def slope(u: Floats) -> Floats:
        out = np.empty(len(u))
        for block in _blocks(len(u), atoms):
            with np.errstate(divide="ignore"):
                out[block] = (1 / (atoms.values - u[block, None]) ** 3) @ power
        return out

    return bisect_rising(np.zeros(len(left)), left, right, slope)


# ---------------------------------------------------------------------- the inverse map


def newton(z: Complexes, start: Complexes, atoms: Atoms, steps: int = 60) -> tuple[Complexes, npt.NDArray[np.bool_]]:
    """Roots u of z(u) = z by Newton's method from ``start``, and where it arrived in the closed upper half-plane."""
    u = start.copy()
    product = atoms.weights * atoms.values / atoms.m
    square = product * atoms.values
    arrived = np.zeros(len(u), dtype=bool)
    active = np.arange(len(u))
    for _ in range(steps):
        wrong, move = np.empty(len(active)), np.empty(len(active), dtype=np.complex128)
        for block in _blocks(len(active), atoms):
            part, goal = u[active[block]], z[active[block]]
            with np.errstate(all="ignore"):
                inverse = 1 / (part[:, None] - atoms.values)
                residual = part * (1 + inverse @ product) - goal
                derivative = 1 - (inverse * inverse) @ square
                move[block] = residual / derivative
            wrong[block] = np.abs(move[block]) / np.maximum(np.abs(part), 1e-300)
        finite = np.isfinite(move)
        u[active[finite]] -= move[finite]
        close = finite & (wrong < 1e-14)
        arrived[active[close]] = True
        active = active[finite & ~close]
        if not len(active):
            break
    # A last step that no longer falls below 1e-14 has still arrived when the residual is at rounding.
    rest = np.flatnonzero(~arrived)
    if len(rest):
        residual = np.abs(z_of_u(u[rest], atoms) - z[rest])
        arrived[rest] = residual <= 1e-12 * np.maximum(np.abs(z[rest]), np.abs(u[rest]))
    return u, arrived & (u.imag >= 0)


def invert(z: Complexes, atoms: Atoms) -> Complexes:
    """The u in the upper half-plane with z(u) = z, for z there.

    There is one, so that any root that Newton's method finds in the half-plane is the right one: straight from a
    guess, else continued downwards from far above, in large steps or in small ones.
    """
    mean = float(atoms.weights @ atoms.values) / atoms.m
    spread = np.sqrt(float(atoms.weights @ atoms.values**2) / atoms.m)
    u, good = newton(z, z + mean + 0.5j * spread, atoms, steps=25)
    for factor in (32.0, 2.0):
        rest = np.flatnonzero(~good)
        if len(rest):
            u[rest], good[rest] = _continued(z[rest], atoms, factor)
    if not good.all():
        u[~good] = _invert_slowly(z[~good], atoms)
    return u


def _continued(z: Complexes, atoms: Atoms, factor: float) -> tuple[Complexes, npt.NDArray[np.bool_]]:
    """From Im z far above, where u is nearly z, down to Im z, divided by ``factor`` a step."""
    level = np.maximum(np.abs(z), 4 * (atoms.values[-1] + float(atoms.weights @ atoms.values) / atoms.m))
    u, good = newton(z.real + 1j * level, z.real + 1j * level, atoms)
    while np.any(level > z.imag):
        level = np.maximum(level / factor, z.imag)
        following, arrived = newton(z.real + 1j * level, u, atoms)
        u, good = np.where(arrived, following, u), arrived
    return u, good


def _invert_slowly(z: Complexes, atoms: Atoms) -> Complexes:
    """The same by two nested bisections: the level line Im z(u) = y is a graph over Re u, and Re z rises along it."""
    reach = np.abs(z) + 4 * (atoms.values[-1] + float(atoms.weights @ atoms.values) / atoms.m)

    def up(a: Floats) -> Floats:
        return bisect_rising(
            z.imag, np.zeros(len(a)), z.imag + reach, lambda b: b * (1 - slope_sum(a, np.maximum(b, 1e-300), atoms))
        )

    a = bisect_rising(z.real, -2 * reach, 2 * reach, lambda a: z_of_u(a + 1j * up(a), atoms).real)
    start = a + 1j * up(a)
    polished, good = newton(z, start, atoms, steps=4)
    return np.where(good, polished, start)
