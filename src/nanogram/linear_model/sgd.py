r"""Mini-batch stochastic gradients on codes, with the early stopping of LP D.2.

Minimises, for W (m, k) and b (k,),

    F(W, b) = sum_i s_i l(y_i, (z_i - c) W + b) / sum_i s_i + penalty / 2 |W|^2

c is a fixed row, about the mean of the columns (0 without an intercept), subtracted implicitly: the intercept is not
penalised, so that any c gives the same model, and features with large means do not slow the steps down.

**The protocol** (LP D.2; `Halving`). Batches of 250 rows. At the end of each epoch the learning rate is halved if the
loss on heldout rows is not below 0.99 times the best so far; if it is worse than the best, the best model is taken
back. Training ends with the tenth halving. Without heldout rows the objective on all training rows takes their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from nanogram.projections import Stream

from ._batches import Batches
from ._design import CodesDesign, Design
from ._rates import first_rate, spread_of, start_intercept
from ._sgd_problem import Problem, mean_loss
from ._sgd_steps import Pair, Plain, Settings, Stepper
from .losses import Loss

__all__ = ["Heldout", "Plain", "Problem", "Result", "Settings", "Stepper", "minimise"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
#: Products of a batch (rows x features x columns) that are small.
SMALL = 250 * 8192 * 16
#: Share of the loss before training that is none.
NOTHING = 1e-10
#: Ends an epoch: told the metric, the rate and a maker of the model as it is; True stops.
Tick = Callable[..., bool]


class Heldout(NamedTuple):
    """Rows that the protocol tests models on; weights None: equal ones."""

    design: Design
    y: Array
    weights: Float64 | None = None


class Result(NamedTuple):
    """Coefficients (m, k), intercepts (k,), and how the run went."""

    coef: Float64
    intercept: Float64
    #: Epochs.
    n_iter: int
    #: Whether it ended by itself, not by ``max_iter``, a stop or an interruption.
    converged: bool
    interrupted: bool
    #: Metric after each epoch, and the rate in it.
    history: list[float]
    rates: list[float]


@dataclass
class Halving:
    """The learning rate and the best model, epoch by epoch (LP D.2).

    After an epoch with metric e, best metric e*, rate r: r <- r / 2 if not e < (1 - tol) e*; the best model is
    restored if e > e*, kept otherwise. Done at the ``n_halvings``-th halving.
    """

    rate: float
    tol: float
    n_halvings: int
    best: float = np.inf
    model: tuple[Float64, Float64] | None = None
    halvings: int = 0

    def after(self, metric: float, stepper: Stepper) -> bool:
        """Judge an epoch; True ends the training."""
        gained = metric < (1.0 - self.tol) * self.best or (self.model is None and np.isfinite(metric))
        if np.isfinite(metric) and metric <= self.best:
            self.best, self.model = metric, stepper.model()
        else:
            self.restore(stepper)
        if not gained:
            self.rate *= 0.5
            self.halvings += 1
        return self.halvings >= self.n_halvings

    def restore(self, stepper: Stepper) -> None:
        """Put the best model back."""
        if self.model is not None:
            stepper.reset(*self.model)


def minimise(
    design: Design,
    loss: Loss,
    y: Array,
    k: int,
    *,
    weights: Float64 | None = None,
    penalty: float = 0.0,
    fit_intercept: bool = True,
    settings: Settings | None = None,
    heldout: Heldout | None = None,
    rows: Int64 | None = None,
    backward: Design | None = None,
    start: tuple[Float64, Float64] | None = None,
    stepper: Callable[[Problem, Settings, Float64, Float64], Stepper] = Plain,
    tick: Tick | None = None,
) -> Result:
    """Minimise F by mini-batches.

    Parameters
    ----------
    design : Design
    loss : Loss
    y : array
        As the loss wants it: (n, k), or class indices (n,) for a loss whose columns belong together.
    k : int
        Columns of raw predictions.
    weights : array (n,) or None
        Of rows; those of weight 0 do not take part.
    penalty : float
        Of the mean loss: for ``C sum_i s_i l_i + |W|^2 / 2`` it is ``1 / (C sum_i s_i)``.
    fit_intercept : bool
    settings : Settings, optional
    heldout : Heldout, optional
        Rows that decide on rate and model; by default the objective on the training rows does.
    rows : array of int64, optional
        Training rows, ascending.
    backward : Design, optional
        For double sampling.
    start : (array (m, k), array (k,)), optional
        Coefficients and intercepts; by default 0 and the best constant prediction.
    stepper : callable
        `Plain`, or one of `nanogram.linear_model.halp`.
    tick : callable, optional
        Called after each epoch with ``model``, ``loss`` and ``rate``; True stops.

    Returns
    -------
    Result
        Of the best model (the last one at a constant rate). An interruption after the first epoch returns it too.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.linear_model._design import as_design
    >>> from nanogram.linear_model.losses import BinaryLogistic
    >>> from nanogram.linear_model.sgd import minimise
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> y = (X[:, :1] > 0.5).astype(float)
    >>> result = minimise(as_design(X), BinaryLogistic(), y, 1)
    >>> bool((((X @ result.coef + result.intercept) > 0) == y).mean() > 0.97)
    True
    """
    settings = settings or Settings()
    problem = Problem(
        design, loss, y, k, weights=weights, penalty=penalty, fit_intercept=fit_intercept, rows=rows,
        backward=backward, seed=settings.seed,
    )  # fmt: skip
    W, b = started(problem, start)
    problem.spread = spread_of(problem.sample, problem.centre, settings.batch_size)
    settings = replace(settings, eta0=rate_of(problem, settings, b))
    run = stepper(problem, settings, W, b)
    halving = Halving(float(settings.eta0), settings.tol, settings.n_halvings)
    constant = settings.schedule == "constant"
    history: list[float] = []
    rates: list[float] = []
    done = stopped = interrupted = False
    before = 0.0
    threads = Threads(problem, settings)
    try:
        for number in range(settings.max_iter):
            rates.append(halving.rate)
            with threads.limited():
                run.epoch(pairs(problem, settings, number), halving.rate, number)
            metric = _metric(problem, heldout, *run.model())
            history.append(metric)
            if constant:
                halving.best, halving.model = metric, run.model()
                done = number + 1 == settings.max_iter or not np.isfinite(metric)
            else:
                if number == 0:
                    before = _metric(problem, heldout, W, b)
                    if not metric <= before:  # worse than no training: the start counts as the best so far
                        halving.best, halving.model = before, (W, b)
                # A loss of nothing (separable classes) can go on to gain 1 % for ever.
                done = halving.after(metric, run) or metric <= NOTHING * before
            if tick is not None:
                model = halving.model or run.model()
                stopped = tick(model=lambda m=model: m, loss=metric, rate=rates[-1])
            if done or stopped:
                break
    except KeyboardInterrupt:
        if halving.model is None:
            raise
        interrupted = True
    W, b = halving.model if halving.model is not None else (W, b)
    if not constant and not np.isfinite(halving.best):
        done = False
    return Result(W, problem.intercept(W, b), len(history), done, interrupted, history, rates)


class Threads:
    """One thread for the products of small batches: others would wait for work busily and take time from the rest.

    Measured (250 rows, 8,192 ternary features, two cores): an epoch takes 1.9 times as long with two threads as with
    one for a single column, 1.2 times as long for ten.
    """

    def __init__(self, problem: Problem, settings: Settings) -> None:
        small = settings.batch_size * problem.design.shape[1] * max(problem.k, 8) <= SMALL
        many = len(problem.rows) > 16 * settings.batch_size  # to find the threads takes as long as a few batches
        self.controller = ThreadpoolController() if small and many and problem.products.packed else None

    def limited(self) -> AbstractContextManager[Any]:
        """A context for the steps of an epoch."""
        if self.controller is None:
            return nullcontext()
        limit: AbstractContextManager[Any] = self.controller.limit(limits=1, user_api="openmp")
        return limit


def started(problem: Problem, start: tuple[Float64, Float64] | None) -> tuple[Float64, Float64]:
    """The first iterate; its intercepts are those of centred rows."""
    m, k = problem.design.shape[1], problem.k
    if start is None:
        b = start_intercept(problem.loss, problem.y, problem.weights, problem.rows, k)
        return np.zeros((m, k)), b if problem.fit_intercept else np.zeros(k)
    W, b = (np.array(part, dtype=np.float64) for part in start)
    if not problem.fit_intercept:
        return W, np.zeros(k)
    return W, b if problem.centre is None else b + problem.centre @ W


def rate_of(problem: Problem, settings: Settings, b: Float64) -> float:
    """The first learning rate."""
    if isinstance(settings.eta0, str):
        return first_rate(problem, problem.spread, settings.momentum, b)
    return float(settings.eta0)


def pairs(problem: Problem, settings: Settings, number: int) -> Iterator[Pair]:
    """The batches of an epoch, each with that of the second codes where there are any."""
    design, other = problem.design, problem.backward
    streamed = [None, None]
    if settings.resample:
        streamed = [resampled(part, 2 * number + i) for i, part in enumerate((design, other))]
    alike = other is None or (
        isinstance(design, CodesDesign) and isinstance(other, CodesDesign) and design.Z.code.compatible(other.Z.code)
    )
    first = Batches(design, problem.rows, settings.batch_size, settings.shuffle if alike else "rows")
    left = first.epoch(settings.seed, number, streamed[0])
    if other is None:
        for batch in left:
            yield batch, None
        return
    second = Batches(other, problem.rows, settings.batch_size, settings.shuffle if alike else "rows")
    yield from zip(left, second.epoch(settings.seed, number, streamed[1]), strict=True)


def resampled(design: Design | None, number: int) -> Any:
    """The design with the rounding noise of an epoch; itself where nothing is random."""
    if design is None or not getattr(design, "stochastic", False):
        return design
    # 63 bits of a hash: neither the salt of the map itself nor that of another epoch.
    salt = int(
        Stream(0, "sgd.resample", number).bits(1, 2)[0].astype(np.uint64) @ np.array([1, 1 << 32], dtype=np.uint64)
    )
    return design.resampled(salt >> 1)  # type: ignore[attr-defined]  # stochastic designs have it


def _metric(problem: Problem, heldout: Heldout | None, W: Float64, b: Float64) -> float:
    """What the protocol goes by."""
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        return np.inf
    if heldout is None:
        return problem.objective(W, b)
    raw = heldout.design.matvec(W, "float32")
    if problem.fit_intercept:
        raw += problem.intercept(W, b)
    return mean_loss(problem.loss, heldout.y, raw, heldout.weights)
