"""``CodeLogisticRegression(solver="sgd")``: the same objective by mini-batches, the way of `CodeSGDClassifier`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from nanogram.projections import Stream

from . import sgd
from ._callbacks import Progress
from ._objective import Objective
from ._sgd_steps import Settings

__all__ = ["TOL", "by_batches"]

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
#: Gain of the heldout loss below which the learning rate is halved (LP D.2).
TOL = 0.01
#: Rows held out.
SHARE = 0.1


def by_batches(
    objective: Objective,
    groups: Int64,
    *,
    start: tuple[Float64, Float64] | None,
    tol: float,
    max_iter: int | None,
    seed: int,
    tick: Progress,
    model: Callable[[Float64, Float64], dict[str, Any]],
) -> sgd.Result:
    """Minimise the objective less its share of heldout rows, a tenth of each of the ``groups``.

    Parameters
    ----------
    objective : Objective
    groups : array of shape (n,)
        Classes, as integers from 0.
    start : (array (m, k), array (k,)) or None
    tol, max_iter, seed
        Of `Settings`; None: as many epochs as ten halvings of the rate take.
    tick : Progress
        Entered.
    model : callable
        Fitted attributes of coefficients (m, k) and intercepts (k,).
    """
    weights = None if objective.weights is None else objective.weights[:, 0]
    total = float(objective.n if weights is None else weights.sum())
    rows, held = _split(groups, weights, seed)
    heldout = None
    if len(held):
        y = objective.y[held]
        heldout = sgd.Heldout(objective.design.rows(held), y, None if weights is None else weights[held])
    settings = Settings(tol=tol, seed=seed) if max_iter is None else Settings(tol=tol, seed=seed, max_iter=max_iter)

    def after(*, model: Callable[[], tuple[Float64, Float64]], loss: float, rate: float) -> bool:
        return tick(model=lambda: attributes(*model()), loss=loss, rate=rate)

    attributes = model
    result = sgd.minimise(
        objective.design,
        objective.loss,
        objective.y,
        objective.k,
        weights=weights,
        penalty=objective.penalty / total,
        fit_intercept=objective.fit_intercept,
        settings=settings,
        heldout=heldout,
        rows=rows,
        start=start,
        tick=after,
    )
    tick.interrupted = result.interrupted
    message = None
    if result.interrupted:
        message = f"interrupted after {result.n_iter} epochs; the best model so far is kept"
    elif not result.converged and result.n_iter == settings.max_iter:
        message = (
            f"sgd stopped after {result.n_iter} epochs, before {settings.n_halvings} halvings of the learning rate: "
            "raise max_iter, a larger tol halves earlier, solver='newton-cg' needs fewer passes"
        )
    if message:
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
    return result


def _split(groups: Int64, weights: Float64 | None, seed: int) -> tuple[Int64, Int64]:
    """Training and heldout rows, ascending; rows that weigh nothing are neither, and each group keeps one to train."""
    counted = np.ones(len(groups), dtype=bool) if weights is None else weights > 0
    order = Stream(seed, "sgd.heldout").permutation(len(groups))
    order = order[counted[order]]
    held = np.zeros(len(groups), dtype=bool)
    for group in np.unique(groups[counted]):
        members = order[groups[order] == group]
        held[members[: min(round(SHARE * len(members)), len(members) - 1)]] = True
    return np.flatnonzero(counted & ~held), np.flatnonzero(held)
