"""Steps of stochastic gradients in full precision, and what other kinds of steps share with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._batches import Batch
from ._sgd_problem import Problem

__all__ = ["Pair", "Plain", "Settings", "Stepper", "diverges"]

Float64 = npt.NDArray[np.float64]
#: Steps of this size are those of a run that diverges.
HUGE = 1e100
#: A batch, and the same rows of the second codes where there are any.
Pair = tuple[Batch, Batch | None]


@dataclass(frozen=True)
class Settings:
    """How to descend; the defaults are LP D.2's.

    Parameters
    ----------
    batch_size : int
    schedule : {"halving", "constant"}
        ``"constant"`` runs ``max_iter`` epochs at one rate and returns the last model (LP D.3.1).
    eta0 : float or "auto"
        First learning rate; ``"auto"`` is the largest that is safe for the curvature seen in a sample of rows.
    momentum : float
        Of the velocity v <- momentum v + gradient, W <- W - rate v.
    average : bool or int
        The model is the mean of the iterates since the rate last changed (from the given number of rows on).
    max_iter : int
        Most epochs.
    tol, n_halvings : float, int
        Of the protocol.
    shuffle : {"auto", "rows", "tiles"}
        See `nanogram.linear_model._batches`.
    resample : bool
        New rounding noise in each epoch, where the design has it (`nanogram.streamed`).
    seed : int
    """

    batch_size: int = 250
    schedule: str = "halving"
    eta0: float | str = "auto"
    momentum: float = 0.0
    average: bool | int = False
    max_iter: int = 1000
    tol: float = 0.01
    n_halvings: int = 10
    shuffle: Any = "auto"
    resample: bool = False
    seed: int = 0


def diverges(R: Float64, rate: float) -> bool:
    """Whether residuals have grown beyond all measure, or are NaN: products of codes take finite numbers."""
    return not float(np.abs(R).max(initial=0.0)) * max(rate, 1.0) < HUGE


class Stepper:
    """What makes the steps of an epoch; holds the iterate ``W`` (m, k), ``b`` (k,)."""

    def __init__(self, problem: Problem, settings: Settings, W: Float64, b: Float64) -> None:
        self.problem, self.settings = problem, settings
        self.W, self.b = W.copy(), b.copy()

    def epoch(self, pairs: Iterator[Pair], rate: float, number: int) -> None:
        """All steps of an epoch."""
        raise NotImplementedError

    def model(self) -> tuple[Float64, Float64]:
        """Copies of the model as it is tested and returned."""
        return self.W.copy(), self.b.copy()

    def reset(self, W: Float64, b: Float64) -> None:
        """Go on from another model."""
        self.W, self.b = W.copy(), b.copy()


class Plain(Stepper):
    """Stochastic gradients in full precision, with momentum and averaging."""

    def __init__(self, problem: Problem, settings: Settings, W: Float64, b: Float64) -> None:
        super().__init__(problem, settings, W, b)
        self.velocity: tuple[Float64, Float64] | None = None
        self.mean: tuple[Float64, Float64] | None = None
        self.averaged, self.seen, self._rate = 0, 0, 0.0
        #: Rows to see before averaging begins.
        self.delay = int(settings.average) if not isinstance(settings.average, bool | np.bool_) else 0

    def epoch(self, pairs: Iterator[Pair], rate: float, number: int) -> None:
        """See `Stepper`."""
        del number
        if rate != self._rate:
            self.averaged, self.mean, self._rate = 0, None, rate
        # A rate that is far too large ends in infinities, which the protocol sees in the metric.
        with np.errstate(over="ignore", invalid="ignore"):
            for batch, other in pairs:
                if not self.step(batch, other, rate):
                    self.W[:] = np.nan
                    return

    def step(self, batch: Batch, other: Batch | None, rate: float) -> bool:
        """One step: W <- W - rate (gradient of the batch + penalty W); False where it diverges, and is not made."""
        problem, momentum = self.problem, self.settings.momentum
        R = problem.residuals(batch, problem.raw(batch, self.W, self.b))
        if diverges(R, rate):
            return False
        rows = batch if other is None else other
        if momentum:
            sums = R.sum(axis=0)
            G = problem.back(rows, R, sums)
            if problem.penalty:
                G += problem.penalty * self.W
            if self.velocity is not None:
                G += momentum * self.velocity[0]
                sums = sums + momentum * self.velocity[1]
            self.velocity = (G, sums)
            self.W -= rate * G
        else:
            R *= rate
            sums = R.sum(axis=0)
            if problem.penalty:
                self.W *= 1.0 - rate * problem.penalty
            self.W -= problem.back(rows, R, sums)
            sums = sums / rate
        if problem.fit_intercept:
            # As if the intercept were the weight of a constant feature as large as the others.
            self.b -= rate * problem.spread * sums
        self.seen += batch.n_rows
        if self.settings.average and self.seen >= self.delay:
            self._average()
        return True

    def _average(self) -> None:
        """Take the iterate into the running mean."""
        self.averaged += 1
        if self.mean is None:
            self.mean = (self.W.copy(), self.b.copy())
            return
        self.mean[0][:] += (self.W - self.mean[0]) / self.averaged
        self.mean[1][:] += (self.b - self.mean[1]) / self.averaged

    def model(self) -> tuple[Float64, Float64]:
        """The mean of the iterates, where they are averaged."""
        if self.mean is None:
            return super().model()
        return self.mean[0].copy(), self.mean[1].copy()

    def reset(self, W: Float64, b: Float64) -> None:
        """See `Stepper`; the velocity is dropped."""
        super().reset(W, b)
        self.velocity = self.mean = None
        self.averaged = 0
