"""Losses that stochastic gradients have beside those of `nanogram.linear_model.losses`, in scikit-learn's scaling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .losses import Huber, Loss

__all__ = ["HalfHuber", "SquaredError"]

Float64 = npt.NDArray[np.float64]
Targets = npt.NDArray[Any]


class SquaredError(Loss):
    """``(y - f)^2 / 2``; the rates that LP's Table 4 gives are for the double of it, so they count twice here."""

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`."""
        r = raw - y
        return 0.5 * r * r, r

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """1."""
        del y
        return np.ones_like(raw)


class HalfHuber(Loss):
    """``(y - f)^2 / 2`` up to ``|y - f| = epsilon``, ``epsilon |y - f| - epsilon^2 / 2`` beyond, as in SGDRegressor."""

    def __init__(self, epsilon: float = 0.1) -> None:
        self.double = Huber(epsilon, 1.0)  # 1 plus twice this loss

    def value_and_gradient(self, y: Targets, raw: Float64) -> tuple[Float64, Float64]:
        """See `Loss`."""
        value, gradient = self.double.value_and_gradient(y, raw)
        return 0.5 * (value - 1.0), 0.5 * gradient

    def curvature(self, y: Targets, raw: Float64) -> Float64:
        """1 where the loss is quadratic, else 0."""
        return 0.5 * self.double.curvature(y, raw)
