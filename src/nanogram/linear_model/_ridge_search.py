"""The choice of alpha: by generalised cross-validation, exact leave-one-out or folds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score
from sklearn.model_selection import check_cv

from nanogram._memory import available_memory, parse_memory

from ._callbacks import Progress
from ._design import Design
from ._ridge_path import gcv, grid, leave_one_out, path_models, tiled
from ._ridge_solve import Choice, as_problem, choose_solver
from ._scoring import make_scorer
from ._targets import Labels, checked_alphas

__all__ = ["Found", "search"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
#: Most passes of the run that scores all alphas where no Gram matrix fits.
LANCZOS_STEPS = 500


class Found(NamedTuple):
    """The outcome of a search."""

    #: One a target.
    alpha: Float64
    alphas: Float64
    #: Of each alpha, (a,), or (a, t) where each target has an alpha of its own; more is better.
    scores: Float64
    best_score: Any
    #: Squared errors or predictions of leave-one-out, (n, t, a).
    left_out: Float64 | None


def search(
    estimator: Any, design: Design, Y: Float64, weights: Float64 | None, y: Array, labels: Labels | None, tick: Progress
) -> Found:
    """Score the estimator's ``alphas`` by its ``cv`` and ``scoring``.

    Parameters
    ----------
    estimator
        Has alphas, cv, scoring, alpha_per_target, store_cv_results and what ridge regressions have.
    design, Y, weights
        Features, targets (n, t) and weights or None.
    y, labels
        Targets for scorers and splitters; the labels of a classifier.
    tick
        Told of each step.
    """
    alphas = grid(design, weights) if isinstance(estimator.alphas, str) and estimator.alphas == "auto" else None
    alphas = checked_alphas(estimator.alphas) if alphas is None else alphas
    per_target, cv, scoring = bool(estimator.alpha_per_target), estimator.cv, estimator.scoring
    if estimator.store_cv_results and cv != "loo":
        raise ValueError(f"store_cv_results=True needs cv='loo'; cv={cv!r} has no result for each row")
    left_out = None
    try:
        if cv is None or (isinstance(cv, str) and cv == "gcv"):
            if scoring is not None:
                raise ValueError(f"scoring={scoring!r} needs predictions, which GCV has none of: use cv='loo' or folds")
            choice = choose_solver(design, estimator.solver, estimator.dual, estimator.max_memory)
            problem = as_problem(design, Y, weights, estimator.fit_intercept, choice.dual)
            scores, _ = gcv(
                problem, alphas, choice, max_iter=LANCZOS_STEPS, seed=estimator._seed(), tick=lambda c: tick(change=c)
            )
        elif isinstance(cv, str):
            if cv != "loo":
                raise ValueError(f"cv={cv!r} is not accepted; None or 'gcv', 'loo', a number of folds or a splitter is")
            scores, left_out = _leave_one_out(estimator, design, Y, weights, y, labels, alphas)
        else:
            scores = _folds(estimator, design, Y, weights, y, labels, alphas, tick)
    except KeyboardInterrupt:
        tick.count = 0  # there is no model yet: let it through
        raise
    if not per_target:
        scores = scores.mean(axis=1)
    # Of equal scores the first one wins, as in scikit-learn; NaN never does.
    best = np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=0)
    alpha = np.broadcast_to(alphas[best], (Y.shape[1],)).copy()
    best_score = scores[best, np.arange(Y.shape[1])] if per_target else float(scores[best])
    return Found(alpha, alphas, scores, best_score, left_out if estimator.store_cv_results else None)


def _leave_one_out(
    estimator: Any,
    design: Design,
    Y: Float64,
    weights: Float64 | None,
    y: Array,
    labels: Labels | None,
    alphas: Float64,
) -> tuple[Float64, Float64]:
    n, counted = design.shape[0], None
    if weights is not None and not weights.all():  # rows that do not count are not left out
        counted = np.flatnonzero(weights)
        design, Y, weights, y = design.rows(counted), Y[counted], weights[counted], y[counted]
    by_rows = design.shape[0] < design.shape[1] if isinstance(estimator.dual, str) else bool(estimator.dual)
    _refuse_large(estimator, design, by_rows)
    problem = as_problem(design, Y, weights, estimator.fit_intercept, by_rows)
    residuals = leave_one_out(problem, alphas).residuals
    if estimator.scoring is None:
        kept = np.square(residuals) if weights is None else np.square(residuals) * weights[:, None]
        scores = -kept.sum(axis=1) / n
    else:
        kept = Y - residuals
        scores = _scored(estimator, y, kept, labels)
    if counted is not None:
        full = np.zeros((len(alphas), n, Y.shape[1]))
        full[:, counted] = kept
        kept = full
    return scores, np.moveaxis(kept, 0, -1)


def _refuse_large(estimator: Any, design: Design, by_rows: bool) -> None:
    order = design.shape[0] if by_rows else design.shape[1]
    given = estimator.max_memory
    budget = available_memory() // 2 if given is None else parse_memory(given)
    if estimator.solver == "cg" or 24.0 * order * order > budget:
        raise ValueError(
            f"cv='loo' needs eigenvectors, three arrays of {order} x {order} ({24e-9 * order * order:.2g} GB), which "
            f"solver={estimator.solver!r} and max_memory={given!r} do not allow: use cv=None (GCV), folds, or raise "
            "max_memory"
        )


def _folds(
    estimator: Any,
    design: Design,
    Y: Float64,
    weights: Float64 | None,
    y: Array,
    labels: Labels | None,
    alphas: Float64,
    tick: Progress,
) -> Float64:
    """Mean scores over the folds, (a, t) or (a, 1); a score of a fold is not weighted."""
    splitter = check_cv(estimator.cv, y, classifier=labels is not None)
    total, count = np.zeros(1), 0
    for train, test in splitter.split(np.zeros((len(Y), 1)), y):
        part = None if weights is None else weights[train]
        if part is not None and not part.any():
            raise ValueError("the weights of the rows of a fold's training part sum to zero")
        rows = design.rows(train)
        choice: Choice = choose_solver(rows, estimator.solver, estimator.dual, estimator.max_memory)
        models = list(
            path_models(
                rows,
                Y[train],
                part,
                estimator.fit_intercept,
                alphas,
                choice,
                tol=float(estimator.tol),
                max_iter=1000 if estimator.max_iter is None else int(estimator.max_iter),
                seed=estimator._seed(),
                tick=lambda c: tick(residual=c),
            )
        )
        raw = tiled(models, design.rows(test))
        total, count = total + _scored(estimator, y[test], raw, labels), count + 1
        tick(fold=count)
    return total / count


def _scored(estimator: Any, y: Array, raw: Float64, labels: Labels | None) -> Float64:
    """Scores of raw predictions (a, n, t): (a, t) where each target has an alpha of its own, else (a, 1)."""
    if estimator.scoring is None and labels is None and not estimator.alpha_per_target:
        return np.array([[r2_score(y, part)] for part in raw])
    default = "r2" if labels is None else "accuracy"
    score = make_scorer(default if estimator.scoring is None else estimator.scoring, labels)
    if not estimator.alpha_per_target or y.ndim == 1:
        return np.array([[score(y, part)] for part in raw])
    return np.array([[score(y[:, j], part[:, [j]]) for j in range(y.shape[1])] for part in raw])
