"""Periodic codes: a step code of sqrt(2) cos(t + phase), for Gaussian kernels of any bandwidth (SPEC section 3).

A function g(theta) = code(sqrt(2) cos theta) with cosine series c_0 + sum_k c_k cos(k theta), behind a
random phase, has the kernel

    c_0^2 + sum_(k >= 1) c_k^2 / 2 exp(-k^2 d^2 / 2),          d = |x - y|.

The first harmonic is the Gaussian kernel, whatever tau is; the amplitude makes its weight that of the
target. The others are what the code costs: they are narrower, and at d >> 1 only a ridge is left of them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar, root

from nanogram.activations import PeriodicStep

__all__ = ["PERIODIC_METHODS", "PeriodicCode", "PeriodicMethod", "design_periodic_code", "is_count"]

FloatArray = npt.NDArray[np.float64]
PeriodicMethod = Literal["lloyd", "harmonics", "uniform"]
PERIODIC_METHODS: tuple[PeriodicMethod, ...] = ("lloyd", "harmonics", "uniform")
MOST_LEVELS = 256
MOST_LLOYD_LEVELS = 16


class PeriodicCode(NamedTuple):
    """A step code of sqrt(2) cos(t + phase).

    Attributes
    ----------
    thresholds : ndarray of shape (L - 1,)
        In units of sqrt(2) cos, so between -sqrt(2) and sqrt(2).
    levels : ndarray of shape (L,)
        Increasing, symmetric about 0; scaled so that the first harmonic has the wanted weight.
    firing : ndarray of shape (L,)
        Probability of each level; the same at every tau.
    excess : float
        Weight of the harmonics from the second on, relative to the first: variance spent on nothing.
    method : str
        How it was designed.
    """

    thresholds: FloatArray
    levels: FloatArray
    firing: FloatArray
    excess: float
    method: str

    def as_activation(self) -> PeriodicStep:
        """The activation with this function, kernel and moments."""
        return PeriodicStep(tuple(self.thresholds), tuple(self.levels))

    def harmonic_weights(self, count: int = 16) -> FloatArray:
        """Weights c_k^2 / 2 of exp(-k^2 d^2 / 2), k = 1 to count.

        Examples
        --------
        >>> (design_periodic_code(2).harmonic_weights(5) * 8 / np.pi**2).round(4)   # sign(cos) has 8/(pi k)^2
        array([0.8106, 0.    , 0.0901, 0.    , 0.0324])
        """
        return np.asarray(self.as_activation().harmonics(count)[1:] ** 2 / 2)

    def kernel(self, distance: npt.ArrayLike) -> FloatArray:
        """The code's kernel at distances |x - y|."""
        squares = np.square(np.asarray(distance, dtype=np.float64))
        return self.as_activation().kernel_from_dots(squares, np.zeros_like(squares), np.zeros_like(squares))

    def kernel_error(self, distance: npt.ArrayLike) -> FloatArray:
        """Kernel less that of its first harmonic, weight * exp(-d^2 / 2): the other harmonics and nothing else."""
        distance = np.asarray(distance, dtype=np.float64)
        weight = float(self.harmonic_weights(1)[0])
        return self.kernel(distance) - weight * np.exp(-0.5 * distance**2)


def is_count(value: object) -> bool:
    """An integer, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _moments_of_arcs(angles: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(share, mean of cos) of the arcs that angles 0 < ... < pi, increasing, cut half a turn into."""
    ends = np.concatenate([[0.0], angles, [np.pi]])
    width = np.diff(ends)
    return np.asarray(width / np.pi), np.asarray(np.diff(np.sin(ends)) / width)


def _lloyd(n_levels: int) -> tuple[FloatArray, FloatArray]:
    """Angles and levels, by the conditions of Lloyd and Max for the arcsine law of cos(theta)."""

    def condition(angles: FloatArray) -> FloatArray:
        _, means = _moments_of_arcs(angles)
        return np.cos(angles) - (means[:-1] + means[1:]) / 2

    start = np.arange(1, n_levels) * np.pi / n_levels
    angles = np.asarray(root(condition, start, tol=1e-14).x)
    # The law is symmetric, and so is its one optimal quantiser: take out the last bits of asymmetry.
    angles = (angles + (np.pi - angles[::-1])) / 2
    return angles, _moments_of_arcs(angles)[1]


def _harmonics(n_levels: int) -> tuple[FloatArray, FloatArray]:
    """Equal arcs, each at the cosine of its middle: only harmonics 2 L j +- 1 are left."""
    step = np.pi / n_levels
    return np.asarray(np.arange(1.0, n_levels) * step), np.cos((np.arange(float(n_levels)) + 0.5) * step)


def _uniform(n_levels: int) -> tuple[FloatArray, FloatArray]:
    """Equally spaced levels a (-1 ... 1), nearest rounding, with the range a of least excess."""
    grid = np.linspace(1, -1, n_levels)
    middles = (grid[:-1] + grid[1:]) / 2

    def angles(spread: float) -> FloatArray:
        return np.arccos(np.clip(spread * middles, -1, 1))

    widest = 0.999 / middles[0] if n_levels > 2 else 1.0
    best = minimize_scalar(
        lambda a: _excess(angles(a), grid), bounds=(0.6, widest), method="bounded", options={"xatol": 1e-12}
    )
    return angles(float(best.x)), grid


def _excess(angles: FloatArray, levels: FloatArray) -> float:
    """Variance over the first harmonic's, less one; levels from cos = 1 down."""
    share, _ = _moments_of_arcs(angles)
    first = 2 / np.pi * float(-np.diff(levels) @ np.sin(angles))
    return float(share @ (levels - share @ levels) ** 2) / (first**2 / 2) - 1


def design_periodic_code(n_levels: int, method: PeriodicMethod = "lloyd", weight: float = 1.0) -> PeriodicCode:
    """Step code of sqrt(2) cos(t + phase) with ``n_levels`` levels.

    Parameters
    ----------
    n_levels : int
        2 (the sign of the cosine) to 256; to 16 for ``"lloyd"``.
    method : {"lloyd", "harmonics", "uniform"}, default="lloyd"
        ``"lloyd"``: least total variance, the quantiser of Lloyd and Max for the arcsine law. ``"harmonics"``:
        equal arcs, which leave no harmonic below 2 L - 1 (the third one of a three-level code included), for a
        little more variance. ``"uniform"``: equally spaced levels and nearest rounding, with the best range.
    weight : float, default=1.0
        Weight of exp(-d^2 / 2) in the kernel.

    Returns
    -------
    PeriodicCode

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.theory import design_periodic_code
    >>> code = design_periodic_code(4, "harmonics")
    >>> code.harmonic_weights(9).round(6)
    array([1.      , 0.      , 0.      , 0.      , 0.      , 0.      ,
           0.020408, 0.      , 0.012346])
    >>> code.firing
    array([0.25, 0.25, 0.25, 0.25])
    """
    if not is_count(n_levels) or not 2 <= n_levels <= MOST_LEVELS:
        raise ValueError(f"n_levels={n_levels!r} is not accepted; an integer from 2 to {MOST_LEVELS} is")
    if method not in PERIODIC_METHODS:
        raise ValueError(f"method={method!r} is unknown; choose one of {', '.join(PERIODIC_METHODS)}")
    if method == "lloyd" and n_levels > MOST_LLOYD_LEVELS:
        raise ValueError(
            f"n_levels={n_levels} is more than {MOST_LLOYD_LEVELS} for method='lloyd'; choose 'uniform' or 'harmonics'"
        )
    if not (np.isfinite(weight) and weight > 0):
        raise ValueError(f"weight={weight!r} must be positive and finite")
    angles, levels = {"lloyd": _lloyd, "harmonics": _harmonics, "uniform": _uniform}[method](int(n_levels))
    levels = (levels - levels[::-1]) / 2
    first = 2 / np.pi * float(-np.diff(levels) @ np.sin(angles))
    levels = levels * np.sqrt(2 * weight) / first
    # Angles run from cos = 1 down; a threshold of exactly 0 is wanted in the middle of an even number of levels.
    thresholds = np.sqrt(2) * np.cos(angles[::-1])
    thresholds = (thresholds - thresholds[::-1]) / 2
    share, _ = _moments_of_arcs(angles)
    return PeriodicCode(thresholds, levels[::-1].copy(), share[::-1].copy(), _excess(angles, levels), method)
