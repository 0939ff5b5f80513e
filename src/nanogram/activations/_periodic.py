"""A step code behind a cosine of random phase: a periodic step function (SPEC section 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from ._base import Activation, Array, Floats
from ._steps import checked_steps

__all__ = ["PeriodicStep"]

#: Below this distance the kernel is summed over the corners of the autocorrelation, above it over harmonics.
_NEAR = 0.5
#: exp(-k^2 _NEAR^2 / 2) < 1e-17 from this harmonic on.
_HARMONICS = 18


class PeriodicStep(Activation):
    """A step code applied to `CosPhase`: s(t) = code(sqrt(2) cos t), t = w.x + phase, phase uniform on [0, 2 pi).

    With theta_l = arccos(t_l / sqrt(2)) and jumps D_l the code has the cosine series
    c_0 = v_1 + sum D_l theta_l / pi, c_k = 2/(pi k) sum D_l sin(k theta_l), and

        kernel = c_0^2 + 1/2 sum_(k >= 1) c_k^2 exp(-k^2 |x - y|^2 / 2)
        d1 = 1/2 sum c_k^2 k^2 e^(-k^2 tau),  d2 = 1/8 sum c_k^2 k^4 e^(-k^2 tau),  d0 = Var - tau d1

    Thresholds are in units of sqrt(2) cos t, so between -sqrt(2) and sqrt(2).

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.activations import PeriodicStep
    >>> sign_of_cos = PeriodicStep(thresholds=(0.0,), levels=(-1, 1))
    >>> k = sign_of_cos.kernel_from_dots(1.0, 0.0, 1.0)  # |x - y|^2 = 2
    >>> round(float(k), 6), round(float(8 / np.pi**2 * (np.exp(-1) + np.exp(-9) / 9)), 6)
    (0.298203, 0.298203)
    """

    name = "periodic_step"
    uses_phase = True

    def __init__(self, thresholds: Sequence[float] = (0.0,), levels: Sequence[float] = (-1.0, 1.0)) -> None:
        self.thresholds = thresholds
        self.levels = levels

    def _steps(self) -> tuple[Floats, Floats]:
        thresholds, levels = checked_steps(self.thresholds, self.levels)
        if np.abs(thresholds).max() > np.sqrt(2):
            raise ValueError(f"thresholds={self.thresholds!r} must lie in [-sqrt(2), sqrt(2)], the range of cos_phase")
        return thresholds, levels

    @property
    def bounds(self) -> tuple[float, float]:
        levels = self._steps()[1]
        return (float(levels.min()), float(levels.max()))

    def _apply(self, t: Array, out: Array) -> None:
        thresholds, levels = self._steps()
        wave = np.cos(t)
        wave *= wave.dtype.type(np.sqrt(2))
        out[...] = levels[np.searchsorted(thresholds, wave, side="left")]

    def harmonics(self, count: int) -> Floats:
        """c_0 to c_count of the cosine series."""
        thresholds, levels = self._steps()
        angles, jumps = np.arccos(thresholds / np.sqrt(2)), np.diff(levels)
        k = np.arange(1.0, count + 1)
        rest = 2 / (np.pi * k) * (np.sin(np.outer(k, angles)) @ jumps)
        return np.concatenate([[levels[0] + jumps @ angles / np.pi], rest])

    @property
    def power(self) -> float:
        """E[s^2], the diagonal of the kernel."""
        thresholds, levels = self._steps()
        angles = np.concatenate([[np.pi], np.arccos(thresholds / np.sqrt(2)), [0.0]])
        return float(-np.diff(angles) @ levels**2 / np.pi)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        squared = np.asarray(np.maximum(xx + yy - 2 * xy, 0.0))
        c = self.harmonics(_HARMONICS)
        total = np.full(squared.shape, c[0] ** 2)
        for k in range(1, _HARMONICS + 1):
            total += c[k] ** 2 / 2 * np.exp(-0.5 * k * k * squared)
        near = squared < _NEAR**2
        if near.any():
            total[near] = self._near(np.sqrt(squared[near]))
        return total

    def _near(self, distance: Floats) -> Floats:
        """The kernel at small distances: E[A(D)], D ~ N(0, distance^2), A the piecewise linear autocorrelation.

        A(D) = A(0) + 1/2 sum_i g_i (|D - k_i| - |k_i|), the corners k_i where two jumps w, w' of s meet,
        with change of slope g = -w w'/(2 pi). Corners beyond 2 pi >= 12 distances cannot be reached.
        """
        thresholds, levels = self._steps()
        angles, jumps = np.arccos(thresholds / np.sqrt(2)), np.diff(levels)
        places, heights = np.concatenate([-angles, angles]), np.concatenate([jumps, -jumps])
        lags = (places[None, :] - places[:, None])[..., None] + 2 * np.pi * np.arange(-2, 3)
        turns = np.broadcast_to((-np.outer(heights, heights) / (2 * np.pi))[..., None], lags.shape)
        reached = np.abs(lags) <= 2 * np.pi
        total = np.full(distance.shape, self.power)
        safe = np.where(distance > 0, distance, 1.0)
        for lag, turn in zip(lags[reached], turns[reached], strict=True):
            ratio = lag / safe
            bump = np.sqrt(2 / np.pi) * np.exp(-0.5 * ratio**2) - abs(ratio) * special.erfc(abs(ratio) / np.sqrt(2))
            total += 0.5 * turn * distance * bump
        return total

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.full(np.shape(tau), self.power)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        # e^(-k^2 tau) k^4 is below 1e-17 of its peak from here on.
        count = int(np.ceil(8 / np.sqrt(tau))) + 8
        c = self.harmonics(count)
        k = np.arange(1.0, count + 1)
        damped = c[1:] ** 2 / 2 * np.exp(-(k**2) * tau)
        variance = self.power - c[0] ** 2 - damped.sum()
        d1 = (damped * k**2).sum()
        return float(variance - tau * d1), float(d1), float((damped * k**4).sum() / 4)

    def _mean(self, _tau: float) -> tuple[float, ...]:
        return (float(self.harmonics(0)[0]),)
