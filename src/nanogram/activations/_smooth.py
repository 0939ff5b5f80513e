"""Smooth activations: the Fourier family, erf and the Gaussian (SPECTRUM Tables 1 and 2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from ._base import Activation, Array, Floats

__all__ = ["Cos", "CosPhase", "CosSin", "Erf", "Gaussian", "Sin"]


def _rbf(xx: Floats, xy: Floats, yy: Floats, sign: float = 1.0) -> Floats:
    """exp(-|x - y|^2 / 2), or with |x + y| for sign = -1; never above 1, whatever the rounding."""
    return np.asarray(np.exp(-0.5 * np.maximum(xx + yy - 2 * sign * xy, 0)))


class Cos(Activation):
    """s(t) = cos t: kernel exp(-(|x|^2 + |y|^2)/2) cosh(x.y)."""

    name = "cos"

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        np.cos(t, out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        # The cosh written out: no overflow for long rows.
        return (_rbf(xx, xy, yy) + _rbf(xx, xy, yy, -1.0)) / 2

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.asarray((1 + np.exp(-2 * np.asarray(tau, dtype=np.float64))) / 2)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        # 1/2 + e^(-2 tau)/2 - e^-tau as a square: no cancellation at small tau.
        return float(np.expm1(-tau)) ** 2 / 2, 0.0, float(np.exp(-tau)) / 4

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (float(np.exp(-tau / 2)),)


class Sin(Activation):
    """s(t) = sin t: kernel exp(-(|x|^2 + |y|^2)/2) sinh(x.y)."""

    name = "sin"

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        np.sin(t, out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        # Odd in x.y, and the difference of two exponentials without cancellation.
        size = np.abs(xy)
        return np.asarray(np.sign(xy) * _rbf(xx, size, yy) * -np.expm1(-2 * size) / 2)

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.asarray(-np.expm1(-2 * np.asarray(tau, dtype=np.float64)) / 2)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        decay = float(np.exp(-tau))
        return float(-np.expm1(-2 * tau)) / 2 - tau * decay, decay, 0.0

    def _mean(self, _tau: float) -> tuple[float, ...]:
        return (0.0,)


class _GaussianKernel(Activation):
    """What the pair and the random phase share.

    kernel = exp(-|x - y|^2 / 2),  d = (1 - e^-tau (1 + tau), e^-tau, e^-tau/4)
    """

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        return _rbf(xx, xy, yy)

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.ones(np.shape(tau))

    def _moments(self, tau: float) -> tuple[float, float, float]:
        decay = float(np.exp(-tau))
        # The incomplete gamma function of order 2 is 1 - e^-tau (1 + tau).
        return float(special.gammainc(2, tau)), decay, decay / 4


class CosSin(_GaussianKernel):
    """The pair [cos t, sin t], two columns a projection: kernel exp(-|x - y|^2 / 2), the target 'rbf'.

    Examples
    --------
    >>> from nanogram.activations import CosSin
    >>> CosSin()([[0.0, 0.0, 0.0]])
    array([[1., 1., 1., 0., 0., 0.]])
    """

    name = "cos_sin"
    n_outputs = 2

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        if np.may_share_memory(t, out):
            t = t.copy()
        m = t.shape[-1]
        np.cos(t, out=out[..., :m])
        np.sin(t, out=out[..., m:])

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (float(np.exp(-tau / 2)), 0.0)


class CosPhase(_GaussianKernel):
    """s(t) = sqrt(2) cos t, where t = w.x + phase and the phase is uniform on [0, 2 pi): kernel exp(-|x - y|^2 / 2).

    The phase is the projection's bias. With the sqrt(2) the kernel is that of the pair, diagonal 1.
    """

    name = "cos_phase"
    uses_phase = True

    @property
    def bounds(self) -> tuple[float, float]:
        return (-float(np.sqrt(2)), float(np.sqrt(2)))

    def _apply(self, t: Array, out: Array) -> None:
        np.cos(t, out=out)
        out *= out.dtype.type(np.sqrt(2))

    def _mean(self, _tau: float) -> tuple[float, ...]:
        return (0.0,)


class Erf(Activation):
    """s(t) = erf t: kernel 2/pi arcsin(2 x.y / sqrt((1 + 2|x|^2)(1 + 2|y|^2)))."""

    name = "erf"

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        special.erf(t, out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        ratio = 2 * xy / (np.sqrt(1 + 2 * xx) * np.sqrt(1 + 2 * yy))
        return np.asarray(2 / np.pi * np.arcsin(np.clip(ratio, -1, 1)))

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        twice = 2 * np.asarray(tau, dtype=np.float64)
        return np.asarray(2 / np.pi * np.arcsin(twice / (1 + twice)))

    def _moments(self, tau: float) -> tuple[float, float, float]:
        u = 2 * tau / (2 * tau + 1)
        return 2 / np.pi * (float(np.arcsin(u)) - u), 4 / (np.pi * (2 * tau + 1)), 0.0

    def _mean(self, _tau: float) -> tuple[float, ...]:
        return (0.0,)


class Gaussian(Activation):
    """s(t) = exp(-t^2/2): kernel 1 / sqrt((1 + |x|^2)(1 + |y|^2) - (x.y)^2)."""

    name = "gaussian"

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def _apply(self, t: Array, out: Array) -> None:
        np.multiply(t, t, out=out)
        out *= out.dtype.type(-0.5)
        np.exp(out, out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        # (1 + a)(1 + b) - c^2 = 1 + a + b + (ab - c^2), the bracket never negative.
        return np.asarray(1 / np.sqrt(1 + xx + yy + np.maximum(xx * yy - xy * xy, 0)))

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        return np.asarray(1 / np.sqrt(1 + 2 * np.asarray(tau, dtype=np.float64)))

    def _moments(self, tau: float) -> tuple[float, float, float]:
        root = float(np.sqrt(2 * tau + 1))
        # 1/sqrt(2 tau + 1) - 1/(tau + 1), rationalised: (tau + 1)^2 - (2 tau + 1) = tau^2.
        return tau**2 / ((tau + 1) * root * (tau + 1 + root)), 0.0, 1 / (4 * (tau + 1) ** 3)

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (float(1 / np.sqrt(tau + 1)),)
