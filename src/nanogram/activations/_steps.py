"""Step functions of t: step, sign and any step code (SPECTRUM Table 1, TRF eq. 3 and Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from ._base import Activation, Array, Floats, cosine

__all__ = ["Sign", "Step", "StepFunction", "checked_steps", "orthant", "step_moments"]


class Step(Activation):
    """s(t) = 1[t > 0]: half the arc-cosine kernel of order 0, 1/2 - arccos(cs)/(2 pi)."""

    name = "step"

    @property
    def breaks(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        out[...] = t > 0

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        cs, norms = cosine(xx, xy, yy)
        # A row of zeros has s(0) = 0.
        return np.where(norms > 0, 0.5 - np.arccos(cs) / (2 * np.pi), 0.0)

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.where(np.asarray(tau) > 0, 0.5, 0.0)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        return 1 / 4 - 1 / (2 * np.pi), 1 / (2 * np.pi * tau), 0.0

    def _mean(self, _tau: float) -> tuple[float, ...]:
        return (0.5,)


class Sign(Activation):
    """s(t) = sign t, 0 at 0: kernel 2/pi arcsin cs."""

    name = "sign"

    @property
    def breaks(self) -> tuple[float, ...]:
        return (0.0,)

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        np.sign(t, out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        return np.asarray(2 / np.pi * np.arcsin(cosine(xx, xy, yy)[0]))

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.where(np.asarray(tau) > 0, 1.0, 0.0)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        return 1 - 2 / np.pi, 2 / (np.pi * tau), 0.0

    def _mean(self, _tau: float) -> tuple[float, ...]:
        return (0.0,)


class StepFunction(Activation):
    """A step code as an activation: level v_l between thresholds t_(l-1) < t <= t_l.

    With jumps D_l = v_(l+1) - v_l and e_l = exp(-t_l^2 / (2 tau)):

        d1 = (sum D_l e_l)^2 / (2 pi tau),  d2 = (sum D_l t_l e_l)^2 / (8 pi tau^3),  d0 = Var - tau d1

    and the kernel sums D_l D_k P(u > t_l, v > t_k) over the bivariate normal pair (u, v) = (w.x, w.y).

    Parameters
    ----------
    thresholds : sequence of float
        One fewer than the levels, none below the one before it.
    levels : sequence of float
        Any finite values; they need not increase.

    Examples
    --------
    >>> from nanogram.activations import Sign, StepFunction
    >>> ternary = StepFunction(thresholds=(-0.5, 1.0), levels=(-1, 0, 1))
    >>> ternary([-0.7, 0.2, 1.4])
    array([-1.,  0.,  1.])
    >>> d0, d1, d2 = ternary.moments(1.0)
    >>> round(d1, 6)
    0.352879
    """

    name = "step_function"

    def __init__(self, thresholds: Sequence[float] = (0.0,), levels: Sequence[float] = (-1.0, 1.0)) -> None:
        self.thresholds = thresholds
        self.levels = levels

    def _steps(self) -> tuple[Floats, Floats]:
        return checked_steps(self.thresholds, self.levels)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(float(t) for t in np.unique(self._steps()[0]))

    @property
    def bounds(self) -> tuple[float, float]:
        levels = self._steps()[1]
        return (float(levels.min()), float(levels.max()))

    def _apply(self, t: Array, out: Array) -> None:
        thresholds, levels = self._steps()
        out[...] = levels[np.searchsorted(thresholds, t, side="left")]

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        thresholds, levels = self._steps()
        cs, _ = cosine(xx, xy, yy)
        jumps = np.diff(levels)
        above_x = [_standardised(t, xx) for t in thresholds]
        above_y = [_standardised(t, yy) for t in thresholds]
        total = np.full(cs.shape, levels[0] ** 2)
        for jump, hx, hy in zip(jumps, above_x, above_y, strict=True):
            total += levels[0] * jump * (special.ndtr(-hx) + special.ndtr(-hy))
            for other, ky in zip(jumps, above_y, strict=True):
                total += jump * other * orthant(hx, ky, cs)
        return total

    def _shares(self, tau: Floats) -> Floats:
        """Probability of each level, along a new last axis."""
        thresholds, _ = self._steps()
        return _level_shares(np.stack([_standardised(t, tau) for t in thresholds], axis=-1))

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.asarray(self._shares(np.asarray(tau, dtype=np.float64)) @ self._steps()[1] ** 2)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        thresholds, levels = self._steps()
        d0, d1, d2 = step_moments(thresholds, levels, tau)
        return float(d0), float(d1), float(d2)

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (float(self._shares(np.asarray(tau)) @ self._steps()[1]),)


def step_moments(thresholds: npt.ArrayLike, levels: npt.ArrayLike, tau: float) -> tuple[Floats, Floats, Floats]:
    """(d0, d1, d2) of many step codes at once, by the formulas of `StepFunction`.

    Codes lie along the last axis of ``thresholds`` (..., L-1) and ``levels`` (..., L); leading axes broadcast.

    Examples
    --------
    >>> from nanogram.activations._steps import step_moments
    >>> d0, d1, d2 = step_moments([[0.0], [1.0]], [0.0, 1.0], tau=1.0)
    >>> d2.round(6)
    array([0.      , 0.014637])
    """
    t, v = np.asarray(thresholds, dtype=np.float64), np.asarray(levels, dtype=np.float64)
    h = t / np.sqrt(tau)
    shares = _level_shares(h)
    mean = (shares * v).sum(axis=-1, keepdims=True)
    variance = (shares * (v - mean) ** 2).sum(axis=-1)
    weights = np.diff(v, axis=-1) * np.exp(-0.5 * h * h)
    slope, bend = weights.sum(axis=-1) ** 2, (weights * h).sum(axis=-1) ** 2
    d1 = slope / (2 * np.pi * tau)
    return np.asarray(variance - tau * d1), np.asarray(d1), np.asarray(bend / (8 * np.pi * tau**2))


def checked_steps(thresholds: Sequence[float], levels: Sequence[float]) -> tuple[Floats, Floats]:
    """Thresholds and levels as arrays, checked."""
    t, v = np.asarray(thresholds, dtype=np.float64), np.asarray(levels, dtype=np.float64)
    if t.ndim != 1 or v.ndim != 1 or len(v) != len(t) + 1 or not len(t):
        raise ValueError(
            f"thresholds={thresholds!r} and levels={levels!r} do not fit: L - 1 thresholds go with L levels, L >= 2"
        )
    if not (np.isfinite(t).all() and (np.diff(t) >= 0).all()):
        raise ValueError(f"thresholds={thresholds!r} must be finite and not decrease")
    if not np.isfinite(v).all():
        raise ValueError(f"levels={levels!r} must be finite")
    return t, v


def _level_shares(h: Floats) -> Floats:
    """P(h_(l-1) < z <= h_l) along the last axis, with infinite ends added."""
    edge = np.full((*h.shape[:-1], 1), np.inf)
    lower, upper = np.concatenate([-edge, h], axis=-1), np.concatenate([h, edge], axis=-1)
    # The difference of the smaller tails, so that rare levels keep their relative accuracy.
    right, left = special.ndtr(-lower) - special.ndtr(-upper), special.ndtr(upper) - special.ndtr(lower)
    return np.asarray(np.where(lower > 0, right, left))


def _standardised(threshold: float, squares: npt.ArrayLike) -> Floats:
    """The threshold over |x|; for a row of zeros -inf or inf as s(0) lies above the threshold or not."""
    norms = np.sqrt(np.asarray(squares, dtype=np.float64))
    at_zero = np.full(norms.shape, -np.inf if threshold < 0 else np.inf)
    return np.asarray(np.divide(threshold, norms, out=at_zero, where=norms > 0))


def orthant(h: npt.ArrayLike, k: npt.ArrayLike, correlation: npt.ArrayLike) -> Floats:
    """P(U > h, V > k) for standard normals U, V of the given correlation, through Owen's T function.

    P = (Q(h) + Q(k))/2 - T(h, a_h) - T(k, a_k) - [hk < 0]/2 with a_h = (k - rho h)/(h sqrt(1 - rho^2)),
    by the symmetry (U, V) -> (-U, -V). Absolute error about 1e-15.

    Examples
    --------
    >>> from nanogram.activations._steps import orthant
    >>> round(float(orthant(0.0, 0.0, 0.5)), 12)  # 1/4 + arcsin(1/2)/(2 pi)
    0.333333333333
    """
    h, k, rho = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (h, k, correlation)))
    # Owen's formula gives P(U < a, V < b). Subnormal numbers count as 0: their quotients are not to be trusted.
    a, b = (np.where(np.abs(x) < np.finfo(np.float64).tiny, 0.0, -x) for x in (h, k))
    spread = np.sqrt((1 - rho) * (1 + rho))
    infinite = np.isinf(a) | np.isinf(b)
    a, b = np.where(infinite, 1.0, a), np.where(infinite, 1.0, b)

    def owen(first: Floats, second: Floats) -> Floats:
        above, below = second - rho * first, first * spread
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = above / below
        # Where below is 0, an infinite slope, first = 0 counting as +0; or none where above is 0 too: U = +-V there.
        vertical = np.where(above == 0, 0.0, np.copysign(np.inf, above) * np.where(first < 0, -1.0, 1.0))
        slope = np.where(below == 0, vertical, slope)
        return np.asarray(special.owens_t(first, slope))

    # By signs: the product of two small numbers may vanish.
    signs = np.sign(a) * np.sign(b)
    corner = np.where((signs < 0) | ((signs == 0) & (a + b < 0)), 0.5, 0.0)
    joint = (special.ndtr(a) + special.ndtr(b)) / 2 - owen(a, b) - owen(b, a) - corner
    joint = np.where((a == 0) & (b == 0), 0.25 + np.arcsin(rho) / (2 * np.pi), joint)
    joint = np.where(infinite, special.ndtr(-h) * special.ndtr(-k), joint)
    return np.asarray(np.clip(joint, 0.0, 1.0))
