"""Polynomials and functions linear on each side of zero (SPECTRUM Tables 1 and 2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._base import Activation, Array, Floats, cosine

__all__ = ["Abs", "Identity", "LeakyReLU", "Quadratic", "ReLU"]


class _TwoSlopes(Activation):
    """s(t) = a+ max(t, 0) + a- max(-t, 0).

    kernel = (a+^2 + a-^2)/2 x.y + |x||y|/(2 pi) (a+ + a-)^2 (sqrt(1 - cs^2) - cs arccos cs)
    d0 = (pi - 2)/(4 pi) (a+ + a-)^2 tau,  d1 = (a+ - a-)^2/4,  d2 = (a+ + a-)^2/(8 pi tau)
    """

    @property
    def _slopes(self) -> tuple[float, float]:
        raise NotImplementedError

    @property
    def breaks(self) -> tuple[float, ...]:
        return (0.0,) if sum(self._slopes) != 0 else ()

    def _apply(self, t: Array, out: Array) -> None:
        plus, minus = self._slopes
        np.multiply(t, np.where(t > 0, t.dtype.type(plus), t.dtype.type(-minus)), out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        plus, minus = self._slopes
        cs, norms = cosine(xx, xy, yy)
        bend = np.sqrt((1 - cs) * (1 + cs)) - cs * np.arccos(cs)
        return np.asarray((plus**2 + minus**2) / 2 * cs * norms + (plus + minus) ** 2 / (2 * np.pi) * norms * bend)

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        plus, minus = self._slopes
        return np.asarray((plus**2 + minus**2) / 2 * np.asarray(tau, dtype=np.float64))

    def _moments(self, tau: float) -> tuple[float, float, float]:
        plus, minus = self._slopes
        bend = (plus + minus) ** 2
        return (np.pi - 2) / (4 * np.pi) * bend * tau, (plus - minus) ** 2 / 4, bend / (8 * np.pi * tau)

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (sum(self._slopes) * float(np.sqrt(tau / (2 * np.pi))),)


class Identity(_TwoSlopes):
    """s(t) = t: the linear kernel x.y, d = (0, 1, 0)."""

    name = "identity"

    @property
    def _slopes(self) -> tuple[float, float]:
        return (1.0, -1.0)

    def _apply(self, t: Array, out: Array) -> None:
        np.copyto(out, t)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        return np.array(np.broadcast_to(xy, np.broadcast_shapes(np.shape(xx), np.shape(xy), np.shape(yy))))


class ReLU(_TwoSlopes):
    """s(t) = max(t, 0): half the arc-cosine kernel of order 1, |x||y|/(2 pi) (cs arccos(-cs) + sqrt(1 - cs^2)).

    Examples
    --------
    >>> from nanogram.activations import ReLU
    >>> ReLU()([-1.0, 2.0])
    array([0., 2.])
    """

    name = "relu"

    @property
    def _slopes(self) -> tuple[float, float]:
        return (1.0, 0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, np.inf)

    def _apply(self, t: Array, out: Array) -> None:
        np.maximum(t, t.dtype.type(0), out=out)


class Abs(_TwoSlopes):
    """s(t) = |t|: kernel 2|x||y|/pi (cs arcsin cs + sqrt(1 - cs^2))."""

    name = "abs"

    @property
    def _slopes(self) -> tuple[float, float]:
        return (1.0, 1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, np.inf)

    def _apply(self, t: Array, out: Array) -> None:
        np.absolute(t, out=out)


class LeakyReLU(_TwoSlopes):
    """s(t) = a+ max(t, 0) + a- max(-t, 0), in the papers' signs.

    The usual leaky ReLU, slope .01 below zero, is a+ = 1 and a- = -.01, the default; a- = 1 gives |t|.
    """

    name = "leaky_relu"

    def __init__(self, a_plus: float = 1.0, a_minus: float = -0.01) -> None:
        self.a_plus = a_plus
        self.a_minus = a_minus

    @property
    def _slopes(self) -> tuple[float, float]:
        return (float(self.a_plus), float(self.a_minus))

    @property
    def bounds(self) -> tuple[float, float]:
        plus, minus = self._slopes
        return (-np.inf if min(plus, minus) < 0 else 0.0, np.inf if max(plus, minus) > 0 else 0.0)


class Quadratic(Activation):
    """s(t) = a2 t^2 + a1 t + a0.

    kernel = a2^2 (2 (x.y)^2 + |x|^2 |y|^2) + a1^2 x.y + a2 a0 (|x|^2 + |y|^2) + a0^2
    d = (2 tau^2 a2^2, a1^2, a2^2)
    """

    name = "quadratic"

    def __init__(self, a2: float = 1.0, a1: float = 0.0, a0: float = 0.0) -> None:
        self.a2 = a2
        self.a1 = a1
        self.a0 = a0

    @property
    def bounds(self) -> tuple[float, float]:
        if self.a2 == 0:
            return (self.a0, self.a0) if self.a1 == 0 else (-np.inf, np.inf)
        turn = self.a0 - self.a1**2 / (4 * self.a2)
        return (turn, np.inf) if self.a2 > 0 else (-np.inf, turn)

    def _apply(self, t: Array, out: Array) -> None:
        kind = t.dtype.type
        horner = t * kind(self.a2)
        horner += kind(self.a1)
        horner *= t
        np.add(horner, kind(self.a0), out=out)

    def _kernel(self, xx: Floats, xy: Floats, yy: Floats) -> Floats:
        square = self.a2**2 * (2 * xy * xy + xx * yy)
        return np.asarray(square + self.a1**2 * xy + self.a2 * self.a0 * (xx + yy) + self.a0**2)

    def second_moment(self, tau: npt.ArrayLike) -> Floats:
        tau = np.asarray(tau, dtype=np.float64)
        return np.asarray(3 * self.a2**2 * tau**2 + (self.a1**2 + 2 * self.a2 * self.a0) * tau + self.a0**2)

    def _moments(self, tau: float) -> tuple[float, float, float]:
        return 2 * tau**2 * self.a2**2, self.a1**2, self.a2**2

    def _mean(self, tau: float) -> tuple[float, ...]:
        return (self.a2 * tau + self.a0,)
