"""Hermite coefficients of step functions, and what the printed ternary design can reach.

A step function of ``z ~ N(0, 1)`` with thresholds ``u_1 <= ... <= u_K`` and levels ``v_0 ... v_K`` has
jumps ``a_k = v_k - v_(k-1)`` and the Hermite coefficients

    h1 = E[z f] = sum_k a_k phi(u_k),      h2 = E[(z^2 - 1) f] = sum_k a_k u_k phi(u_k).

In the paper's scaling (TRF, Theorem 1) ``u = s / sqrt(tau)``, ``d1 = h1^2 / tau``,
``d2 = h2^2 / (4 tau^2)`` and ``d0 = Var f - h1^2``: see `nanogram.activations.step_moments`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

__all__ = ["cell_probabilities", "hermite_pair", "normal_density", "unscaled_feasibility"]

FloatArray = npt.NDArray[np.float64]
ROOT_2PI = float(np.sqrt(2 * np.pi))


def normal_density(u: npt.ArrayLike) -> FloatArray:
    """phi(u), the standard normal density."""
    u = np.asarray(u, dtype=np.float64)
    return np.asarray(np.exp(-0.5 * u * u) / ROOT_2PI)


def cell_probabilities(u: npt.ArrayLike) -> FloatArray:
    """Probabilities of the cells that sorted thresholds ``u`` (last axis) cut the normal law into."""
    u = np.asarray(u, dtype=np.float64)
    edge = np.full((*u.shape[:-1], 1), np.inf)
    low, high = np.concatenate([-edge, u], axis=-1), np.concatenate([u, edge], axis=-1)
    # Two upper tails subtract without loss where two lower ones would both be nearly one.
    return np.asarray(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def hermite_pair(u: FloatArray, levels: FloatArray) -> tuple[float, float]:
    """(h1, h2) of the step function with standardised thresholds ``u``."""
    jumps, density = np.diff(levels), normal_density(u)
    return float(jumps @ density), float(jumps @ (u * density))


def unscaled_feasibility(h1: float, h2: float) -> tuple[bool, float]:
    """Whether levels (-1, 0, 1), as printed in TRF's Corollary 1, reach (h1, h2), and how near they get.

    With h1 fixed the largest h2 is had when both thresholds coincide, so the pair is in reach exactly
    when ``h1 <= 2 phi(h2 / h1)``. The second answer is the least of
    ``sqrt((h1'/h1 - 1)^2 + (h2'/h2 - 1)^2)`` over all thresholds: the relative residual in
    (sqrt d1, sqrt d2). A coefficient whose target is zero is measured against the other one.

    Examples
    --------
    >>> import numpy as np
    >>> unscaled_feasibility(np.exp(-0.5), np.exp(-0.5))            # 'rbf' at tau = 1
    (False, 0.23...)
    """
    if 0 < h1 <= 2 * float(normal_density(h2 / h1)):
        return True, 0.0
    size = float(np.hypot(h1, h2))
    scale1, scale2 = h1 or size, h2 or size

    def best(low: FloatArray, high: FloatArray) -> tuple[float, float, float]:
        a, b = np.meshgrid(low, high, indexing="ij")
        first = (normal_density(a) + normal_density(b) - h1) / scale1
        second = (a * normal_density(a) + b * normal_density(b) - h2) / scale2
        error = np.where(a <= b, np.hypot(first, second), np.inf)
        i, j = np.unravel_index(int(np.argmin(error)), error.shape)
        return float(error[i, j]), float(low[i]), float(high[j])

    width = 6.0
    grid = np.linspace(-width, width, 241)
    error, low, high = best(grid, grid)
    for _ in range(12):
        width /= 8
        error, low, high = best(low + np.linspace(-width, width, 33), high + np.linspace(-width, width, 33))
    return False, error
