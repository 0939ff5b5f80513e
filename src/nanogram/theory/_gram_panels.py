"""Quadrature over the density of a Gram spectrum, along the curve of `_gram_curve`.

x and the density are both closed forms of a = Re u, and ``dx = da / Re(1/z'(u))``. In each cell a runs as
``middle - half cos(theta)``, which takes the square roots at the edges away; panels of theta are halved until the
Gauss-Legendre sum of the density over each is what the distribution function says it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import _gram_curve as curve

__all__ = ["Panels", "integrate", "make_panels"]

Floats = npt.NDArray[np.float64]
MassAbove = Callable[[Floats, npt.NDArray[np.complex128]], Floats]

_NODES, _WEIGHTS = (np.asarray(a, dtype=np.float64) for a in np.polynomial.legendre.leggauss(16))
_AGREEMENT = 1e-9
_DEEPEST = 14


class Panels(NamedTuple):
    """Points x, the number of eigenvalues each stands for (density times weights, n times)."""

    x: Floats
    mass: Floats


def make_panels(cells: Sequence[curve.Cell], atoms: curve.Atoms, mass_above: MassAbove) -> Panels:
    """Points and masses over all cells."""
    lefts = np.array([cell.left for cell in cells])
    rights = np.array([cell.right for cell in cells])
    start = [max(1, min(64, round((cell.last - cell.first) / 12))) for cell in cells]
    which = np.repeat(np.arange(len(cells)), start)
    low = np.concatenate([np.arange(s) * np.pi / s for s in start])
    high = np.concatenate([np.arange(1, s + 1) * np.pi / s for s in start])
    points, masses = [], []
    for depth in range(_DEEPEST + 1):
        middle, half = (lefts[which] + rights[which]) / 2, (rights[which] - lefts[which]) / 2
        theta = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * _NODES
        a = middle[:, None] - half[:, None] * np.cos(theta)
        u, x, density, slope = _on_curve(a.ravel(), atoms)
        mass = (density * slope).reshape(a.shape) * np.sin(theta) * half[:, None] * (high - low)[:, None] / 2 * _WEIGHTS
        ends = np.stack([middle - half * np.cos(low), middle - half * np.cos(high)])
        ends_u = ends.ravel() + 1j * curve.height(ends.ravel(), atoms)
        above = mass_above(curve.z_of_u(ends_u, atoms).real, ends_u).reshape(ends.shape)
        wrong = np.abs(mass.sum(axis=1) - (above[0] - above[1]))
        bad = wrong > _AGREEMENT
        if depth == _DEEPEST:
            bad[:] = False
        points.append(x.reshape(a.shape)[~bad].ravel())
        masses.append(mass[~bad].ravel())
        if not bad.any():
            break
        centre = (low + high)[bad] / 2
        which = np.concatenate([which[bad], which[bad]])
        low, high = np.concatenate([low[bad], centre]), np.concatenate([centre, high[bad]])
    return Panels(np.concatenate(points), np.concatenate(masses))


def _on_curve(a: Floats, atoms: curve.Atoms) -> tuple[npt.NDArray[np.complex128], Floats, Floats, Floats]:
    """u, x, n times the density, and dx/da."""
    u = a + 1j * curve.height(a, atoms)
    x = curve.z_of_u(u, atoms).real
    derivative = np.empty(len(u), dtype=np.complex128)
    power = atoms.weights * atoms.values**2 / atoms.m
    for start in range(0, len(u), 256):
        part = u[start : start + 256]
        derivative[start : start + 256] = 1 - (1 / (part[:, None] - atoms.values) ** 2) @ power
    density = atoms.m / np.pi * u.imag / np.abs(u) ** 2
    return u, x, density, 1 / (1 / derivative).real


def integrate(panels: Panels, function: Callable[[Floats], Floats]) -> float:
    """The integral of a function over the density, n times."""
    return float(np.asarray(function(panels.x), dtype=np.float64) @ panels.mass)
