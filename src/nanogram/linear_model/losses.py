"""Losses of linear models: functions of targets y and raw predictions f, over all rows and columns at once.

Every loss gives per-row values, gradients and curvatures with respect to f; weights of rows, the penalty and the chain
rule through the features are the solvers' business. Arrays are float64; f has shape (n,) or (n, k).

=========================== ==================== ==================================================
loss                        targets y            l(y, f)
=========================== ==================== ==================================================
`BinaryLogistic`            0.0 or 1.0           log(1 + e^f) - y f
`MultinomialLogistic`       class indices (n,)   log sum_k e^{f_k} - f_y
`SquaredHinge`              -1.0 or 1.0          max(0, 1 - y f)^2
`Poisson`                   y >= 0               e^f - y f
`Huber`                     real                 sigma + sigma H_eps((y - f) / sigma)
`Pinball`                   real                 max(q r, (q - 1) r), r = y - f, smoothed by mu
`EpsilonInsensitive`        real                 max(0, |y - f| - eps), smoothed by mu
`SquaredEpsilonInsensitive` real                 max(0, |y - f| - eps)^2
=========================== ==================== ==================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "BinaryLogistic",
    "EpsilonInsensitive",
    "Huber",
    "Loss",
    "MultinomialLogistic",
    "Pinball",
    "Poisson",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
]

Float64 = npt.NDArray[np.float64]
Targets = npt.NDArray[Any]


class Loss(ABC):
    """A convex loss of each row, by columns: entry (i, j) of every array belongs to row i and column j of f.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.linear_model.losses import BinaryLogistic
    >>> loss = BinaryLogistic()
    >>> value, gradient = loss.value_and_gradient(np.array([1.0, 0.0]), np.array([0.0, 2.0]))
    >>> value.round(4), gradient.round(4)
    (array([0.6931, 2.1269]), array([-0.5   ,  0.8808]))
    """

    #: Whether the columns of f make up one loss a row; otherwise each column is a problem of its own.
    coupled: bool = False

    @abstractmethod
    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """Losses, of the shape of ``raw`` (of rows, (n,), where columns belong together), and dl/df."""

    @abstractmethod
    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """What `hessian_product` needs of this point: d2l/df2 entry by entry, at least 0, or the probabilities."""

    def value(self, y: Targets, raw: Float64) -> Float64:
        """Losses alone."""
        return self.value_and_gradient(y, raw)[0]

    def gradient(self, y: Targets, raw: Float64) -> Float64:
        """dl/df alone, of the shape of ``raw``."""
        return self.value_and_gradient(y, raw)[1]

    def hessian_product(self, curvature: Float64, V: Float64) -> Float64:
        """The Hessian of each row's loss times the row of V."""
        return curvature * V


class BinaryLogistic(Loss):
    """``log(1 + e^f) - y f`` for y of 0 and 1; neither overflows nor cancels for large ``|f|``."""

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`; the gradient is ``p - y`` with p = 1 / (1 + e^-f)."""
        small = np.exp(-np.abs(raw))
        value = np.log1p(small)
        value += np.maximum(raw, 0.0) - y * raw
        gradient = np.where(raw >= 0, 1.0, small)
        small += 1.0
        gradient /= small
        gradient -= y
        return value, gradient

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """``p (1 - p)``."""
        del y
        small = np.exp(-np.abs(raw))
        return np.asarray(small / np.square(1.0 + small))


class MultinomialLogistic(Loss):
    """``log sum_k e^{f_k} - f_y`` for class indices y; one value a row, the columns of f belong together."""

    coupled = True

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`; the gradient is ``p - e_y`` with p the softmax of the row."""
        rows = np.arange(len(raw))
        largest = raw.max(axis=1)
        p = np.exp(raw - largest[:, None])
        total = p.sum(axis=1)
        value = np.log(total) + (largest - raw[rows, y])
        p /= total[:, None]
        p[rows, y] -= 1.0
        return value, p

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """The probabilities p; the Hessian of a row is ``diag(p) - p p^T``."""
        del y
        p = np.exp(raw - raw.max(axis=1)[:, None])
        p /= p.sum(axis=1)[:, None]
        return np.asarray(p)

    def hessian_product(self, curvature: Float64, V: Float64) -> Float64:
        """``p * (V - p.V)`` for each row."""
        return np.asarray(curvature * (V - np.einsum("ij,ij->i", curvature, V)[:, None]))


class SquaredHinge(Loss):
    """``max(0, 1 - y f)^2`` for y of -1 and 1; the curvature is that of the active rows, 1 - y f > 0."""

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`."""
        gap = np.maximum(1.0 - y * raw, 0.0)
        return gap * gap, -2.0 * y * gap

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """2 for active rows, else 0."""
        return np.where(y * raw < 1.0, 2.0, 0.0)


class Poisson(Loss):
    """``e^f - y f``, half the Poisson deviance with a logarithmic link up to terms in y alone."""

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`; e^f may overflow to infinity, which a line search turns away from."""
        with np.errstate(over="ignore"):
            mean = np.exp(raw)
        return mean - y * raw, mean - y

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """``e^f``."""
        del y
        with np.errstate(over="ignore"):
            return np.exp(raw)


class Huber(Loss):
    """``sigma + sigma H_eps((y - f) / sigma)``, H_eps(z) = z^2 up to ``|z| = eps``, 2 eps |z| - eps^2 beyond.

    The loss of scikit-learn's HuberRegressor for a given scale, a number or one for each column of f.
    """

    def __init__(self, epsilon: float = 1.35, sigma: float | Float64 = 1.0) -> None:
        self.epsilon, self.sigma = epsilon, sigma

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`."""
        z = (raw - y) / self.sigma
        clipped = np.clip(z, -self.epsilon, self.epsilon)
        value = self.sigma * (1.0 + clipped * (2.0 * z - clipped))
        return np.asarray(value), 2.0 * clipped

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """``2 / sigma`` where the loss is quadratic, else 0."""
        return np.where(np.abs(raw - y) < self.epsilon * self.sigma, 2.0 / self.sigma, 0.0)


class Pinball(Loss):
    """``max(q r, (q - 1) r)``, r = y - f, smoothed: ``max over t in [q - 1, q] of t r - mu t^2 / 2``.

    At most ``mu max(q, 1 - q)^2 / 2`` below the pinball loss; mu = 0 is the loss itself (its curvature is 0).
    """

    def __init__(self, quantile: float = 0.5, mu: float = 0.0) -> None:
        self.quantile, self.mu = quantile, mu

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`; the gradient is -t."""
        r = y - raw
        t = _clipped(r, self.mu, self.quantile - 1.0, self.quantile)
        return t * (r - 0.5 * self.mu * t), -t

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """``1 / mu`` where the loss is quadratic, else 0."""
        r = y - raw
        inside = (r > (self.quantile - 1.0) * self.mu) & (r < self.quantile * self.mu)
        return np.where(inside, 1.0 / max(self.mu, 1e-300), 0.0)


class EpsilonInsensitive(Loss):
    """``max(0, |y - f| - eps)``, smoothed: ``max over |t| <= 1 of t r - eps |t| - mu t^2 / 2``, at most mu / 2 less."""

    def __init__(self, epsilon: float = 0.1, mu: float = 0.0) -> None:
        self.epsilon, self.mu = epsilon, mu

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`; the gradient is -t."""
        r = y - raw
        excess = np.abs(r) - self.epsilon
        t = _clipped(excess, self.mu, 0.0, 1.0)
        return t * (excess - 0.5 * self.mu * t), -np.copysign(t, r)

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """``1 / mu`` where the loss is quadratic, else 0."""
        excess = np.abs(y - raw) - self.epsilon
        return np.where((excess > 0.0) & (excess < self.mu), 1.0 / max(self.mu, 1e-300), 0.0)


class SquaredEpsilonInsensitive(Loss):
    """``max(0, |y - f| - eps)^2``."""

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`."""
        r = raw - y
        excess = np.maximum(np.abs(r) - self.epsilon, 0.0)
        return excess * excess, 2.0 * np.copysign(excess, r)

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """2 outside the tube, else 0."""
        return np.where(np.abs(raw - y) > self.epsilon, 2.0, 0.0)


def _clipped(r: Float64, mu: float, low: float, high: float) -> Float64:
    """The t in [low, high] that maximises ``t r - mu t^2 / 2``."""
    if mu > 0.0:
        return np.clip(r / mu, low, high)
    return np.where(r > 0.0, high, np.where(r < 0.0, low, 0.0))
