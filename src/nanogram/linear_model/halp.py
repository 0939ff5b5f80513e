r"""LM-HALP: steps on a low-precision model that is recentred every epoch (LP D.7.2; De Sa et al. 2018).

The model is ``W + delta Q``: W in double, "the centre", and Q small integers of 8 or 16 bits that hold the steps since
the last recentring. All that the inner steps touch is Q. One epoch, with T batches B of rows z_i and f_i = z_i W + b:

1. One pass: f_i for all rows, and for SVRG the full gradient g = sum_i l'(f_i) z_i / n + penalty W.
2. ``delta = |g| / (mu (2^(bits-1) - 1))`` by column, Q = 0.
3. T times: ``Q <- clip(round_stochastically(Q - rate / delta * d))`` with

       d = sum_{i in B} (l'(f_i + delta z_i Q) - l'(f_i)) z_i / |B| + penalty delta Q + g         SVRG
       d = sum_{i in B} l'(f_i + delta z_i Q) z_i / |B| + penalty (W + delta Q)                   SGD

4. ``W <- W + delta Q``.

Under SVRG the steps shrink with g, and delta with it, so that the rounding noise dies out and the solution is that
of full precision. SGD needs no gradient of all rows: |g| in step 2 is what the last epoch moved, divided by its steps.
The products in step 3 are products of integer codes with integers, the gradient that is multiplied back is rounded
to integers of the same width (stochastically, so without bias), and the sum in the brackets is made in fixed point with
`FRACTION` more bits, which is where the random bits of the rounding are added.

**mu** is the strong convexity in the paper, where |g| / mu bounds the distance from the solution, and tuned in LP. By
default it goes by what is seen: twice as wide a range where more than 1 % of Q meets its end in an epoch, half as
wide where none uses a quarter of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram.projections import Stream

from ._batches import Batch
from ._sgd_problem import Problem
from ._sgd_steps import Pair, Settings, Stepper, diverges

__all__ = ["HALP", "LowPrecision"]

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
Integers = npt.NDArray[Any]
#: Bits of a fixed-point sum below those of the model.
FRACTION = {8: 16, 16: 12}
TYPES: dict[int, Any] = {8: np.int8, 16: np.int16}
#: Share of entries at the end of the range from which it is widened.
SATURATED = 0.01


class _Rounded(Stepper):
    """An integer model of 8 or 16 bits around a centre; subclasses say where centre and scale come from."""

    def __init__(self, problem: Problem, settings: Settings, W: Float64, b: Float64, *, bits: int = 8) -> None:
        super().__init__(problem, settings, W, b)
        if bits not in TYPES:
            raise ValueError(f"bits={bits!r} is not accepted; 8 and 16 are")
        self.bits, self.largest, self.fraction = bits, 2 ** (bits - 1) - 1, FRACTION[bits]
        #: The integer model Q, and its steps by column.
        self.Q: Integers = np.zeros(W.shape, dtype=TYPES[bits])
        self.delta: Float64 = np.ones(W.shape[1])
        self.steps = 0

    def offset(self, batch: Batch) -> Float64:
        """``delta (z_i - c) Q`` of a batch's rows."""
        Q = self.Q.astype(np.float64)
        raw = self.problem.products.matvec(batch, Q, "fast" if self.bits == 8 else "float32")
        if self.problem.centre is not None:
            raw -= np.einsum("i,ij->j", self.problem.centre, Q)
        return np.asarray(raw * self.delta)

    def move(self, batch: Batch, R: Float64, rate: float, constant: Int64 | None) -> None:
        """``Q <- Q - rate / delta (Z^T R + penalty delta Q) - constant``, R rounded to integers of the model's width.

        ``constant`` is in units of ``2^-fraction`` already.
        """
        problem, one = self.problem, float(1 << self.fraction)
        noise = Stream(self.settings.seed, "halp.rounding", self.steps)
        self.steps += 1
        scale = np.abs(R).max(axis=0) / self.largest
        scale[scale == 0.0] = 1.0
        uniform = noise.uniform(*R.shape)
        gamma = np.floor(R / scale + uniform).clip(-self.largest, self.largest).astype(TYPES[self.bits])
        G = problem.back(batch, gamma.astype(np.float64), gamma.sum(axis=0, dtype=np.float64))
        # All in integers from here: fixed point with `fraction` bits below the unit of Q.
        limit = 2.0**30
        update = np.clip(np.rint(G * (scale * (rate * one) / self.delta)), -limit, limit).astype(np.int64)
        kept = round((1.0 - rate * problem.penalty) * one)
        total = self.Q.astype(np.int64) * kept - update
        if constant is not None:
            total -= constant
        random = noise.bits(problem.k, len(total), draw=4).T >> np.uint32(32 - self.fraction)
        rounded = (total + random) >> self.fraction
        np.clip(rounded, -self.largest, self.largest, out=rounded)
        self.Q = rounded.astype(self.Q.dtype)

    def model(self) -> tuple[Float64, Float64]:
        """See `Stepper`: in double."""
        return self.W + self.delta * self.Q, self.b.copy()

    def reset(self, W: Float64, b: Float64) -> None:
        """See `Stepper`."""
        super().reset(W, b)
        self.Q[:] = 0

    def gradients(self, batch: Batch, raw: Float64) -> Float64:
        """dl/df of the batch over its rows; 0 for rows that do not count."""
        return self.problem.residuals(batch, raw)


class HALP(_Rounded):
    """LM-HALP.

    Parameters
    ----------
    bits : {8, 16}
    variance_reduced : bool
        SVRG steps; else SGD.
    mu : float or None
        None adapts it.
    """

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        W: Float64,
        b: Float64,
        *,
        bits: int = 8,
        variance_reduced: bool = True,
        mu: float | None = None,
    ) -> None:
        super().__init__(problem, settings, W, b, bits=bits)
        self.variance_reduced, self.mu = variance_reduced, mu
        #: Range of Q over the norm of the gradient, by column: 1 / mu.
        self.reach: Float64 | None = None if mu is None else np.full(W.shape[1], 1.0 / mu)
        self.moved: Float64 | None = None

    def epoch(self, pairs: Iterator[Pair], rate: float, number: int) -> None:
        """See `Stepper`."""
        del number
        problem = self.problem
        n_steps = -(-len(problem.rows) // self.settings.batch_size)
        f, g, g_b = self._full()
        size = self._size(g, f, n_steps, rate)
        if self.reach is None:
            # An epoch along the gradient, if nothing stopped it: far too wide at worst, and narrowed epoch by epoch.
            peak = np.abs(g).max(axis=0) if g is not None else size
            self.reach = np.maximum(rate * min(n_steps, 16) * peak, 1e-300) / np.maximum(size, 1e-300)
        self.delta = np.maximum(size * self.reach, 1e-290) / self.largest
        self.Q[:] = 0
        one = float(1 << self.fraction)
        constant = None
        drift = g if self.variance_reduced else problem.penalty * self.W
        if drift is not None and (self.variance_reduced or problem.penalty):
            fixed = np.rint(drift * (rate * one / self.delta))
            constant = np.clip(fixed, -(2.0**30), 2.0**30).astype(np.int64)
        start = self.b.copy()
        for batch, other in pairs:
            ids = np.maximum(batch.ids, 0)
            raw = f[ids] + self.offset(batch) + (self.b - start)
            R = self.gradients(batch, raw)
            if self.variance_reduced:
                R -= self.gradients(batch, f[ids])
            if diverges(R, rate):
                self.W[:] = np.nan
                return
            self.move(batch if other is None else other, R, rate, constant)
            if problem.fit_intercept:
                self.b -= rate * problem.spread * (R.sum(axis=0) + (g_b if self.variance_reduced else 0.0))
        step = self.delta * self.Q
        self.moved = np.linalg.norm(step, axis=0) / max(n_steps * rate, 1e-300)
        self.W += step
        if self.mu is None:
            self._adapt()
        self.Q[:] = 0

    def _full(self) -> tuple[Float64, Float64 | None, Float64]:
        """Raw predictions of all rows; the full gradient where it is needed."""
        problem = self.problem
        n, k = problem.design.shape[0], problem.k
        f = np.empty((n, k))
        sums = np.zeros(k)
        shift = problem.intercept(self.W, self.b) if problem.fit_intercept else np.zeros(k)
        if not self.variance_reduced:
            f[:] = problem.design.matvec(self.W, "fast") + shift
            return f, None, sums
        taking = np.zeros(n, dtype=bool)
        taking[problem.rows] = True

        def between(rows: slice, product: Float64) -> Float64:
            f[rows] = product + shift
            R = problem.loss.gradient(problem.y[rows], f[rows]) / len(problem.rows)
            if problem.weights is not None:
                R *= problem.weights[rows, None]
            R[~taking[rows]] = 0.0
            sums[:] += R.sum(axis=0)
            return R

        g = problem.design.there_and_back(self.W, between, "float32")
        if problem.centre is not None:
            g -= np.multiply.outer(problem.centre, sums)
        g += problem.penalty * self.W
        return f, g, sums

    def _size(self, g: Float64 | None, f: Float64, n_steps: int, rate: float) -> Float64:
        """|g| by column, or an estimate of it."""
        if g is not None:
            return np.asarray(np.linalg.norm(g, axis=0))
        if self.moved is not None and (self.moved > 0).all():
            return self.moved
        del n_steps, rate  # the first epoch: the gradient of the sampled rows
        ids = self.problem.sample.ids
        batch = Batch(self.problem.sample.design, ids, len(ids))
        R = self.gradients(batch, f[ids])
        return np.asarray(np.linalg.norm(self.problem.back(batch, R, R.sum(axis=0)), axis=0))

    def _adapt(self) -> None:
        """Widen or narrow the range, column by column."""
        assert self.reach is not None, "an epoch has run"
        magnitude = np.abs(self.Q.astype(np.int32))
        full = (magnitude >= self.largest).mean(axis=0) > SATURATED
        empty = magnitude.max(axis=0) < self.largest // 4
        self.reach = np.where(full, 2.0 * self.reach, np.where(empty, 0.5 * self.reach, self.reach))


class LowPrecision(_Rounded):
    """Plain low-precision SGD, for comparison: the model is ``delta Q`` alone, on one grid from beginning to end.

    Parameters
    ----------
    bits : {8, 16}
    span : float or None
        Range of the coefficients; None: four times what an epoch along the first gradient would reach.
    """

    def __init__(
        self, problem: Problem, settings: Settings, W: Float64, b: Float64, *, bits: int = 8, span: float | None = None
    ) -> None:
        super().__init__(problem, settings, W, b, bits=bits)
        self.span = span
        self._ready = False

    def _place(self, W: Float64) -> None:
        """Put a model on the grid, by the nearest point."""
        self.Q = np.rint(W / self.delta).clip(-self.largest, self.largest).astype(self.Q.dtype)
        self.W = np.zeros_like(W)

    def epoch(self, pairs: Iterator[Pair], rate: float, number: int) -> None:
        """See `Stepper`."""
        del number
        problem = self.problem
        if not self._ready:
            self._ready = True
            span = self.span
            if span is None:
                ids = problem.sample.ids
                batch = Batch(problem.sample.design, ids, len(ids))
                R = self.gradients(batch, problem.raw(batch, self.W, self.b))
                peak = np.abs(problem.back(batch, R, R.sum(axis=0))).max()
                span = max(4.0 * rate * -(-len(problem.rows) // self.settings.batch_size) * float(peak), 1e-290)
                span = max(span, float(np.abs(self.W).max(initial=0.0)))
            self.delta = np.full(problem.k, span / self.largest)
            self._place(self.W)
        for batch, other in pairs:
            R = self.gradients(batch, self.offset(batch) + self.b)
            if diverges(R, rate):
                self.W[:] = np.nan
                return
            self.move(batch if other is None else other, R, rate, None)
            if problem.fit_intercept:
                self.b -= rate * problem.spread * R.sum(axis=0)

    def reset(self, W: Float64, b: Float64) -> None:
        """See `Stepper`."""
        self.b = b.copy()
        if self._ready:
            self._place(W)
        else:
            self.W = W.copy()
