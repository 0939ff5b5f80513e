"""`CodeRegressor`: robust, quantile and count regression straight on codes."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import _check_y, check_consistent_length

from ._callbacks import Progress, progress, with_callbacks
from ._design import checked_weights, read_features
from ._iterative import IterativeBase, checked_number
from ._minimise import Origin, Result, Stop, advise, minimise
from ._objective import Objective, Point
from ._robust import by_multipliers, huber_scale, unsmoothed, with_scale
from ._targets import _refuse_none
from .losses import EpsilonInsensitive, Huber, Loss, Pinball, Poisson, SquaredEpsilonInsensitive

__all__ = ["CodeRegressor"]

Float64 = npt.NDArray[np.float64]
LOSSES = ("huber", "quantile", "poisson", "epsilon_insensitive", "squared_epsilon_insensitive")
#: Of epsilon, by loss.
EPSILON = {"huber": 1.35, "epsilon_insensitive": 0.1, "squared_epsilon_insensitive": 0.1}


class CodeRegressor(RegressorMixin, IterativeBase):
    r"""Regression with losses other than squares, on packed codes, dense or sparse arrays.

    With f = w.z + b, r = y - f and weights s of sum S, it minimises for loss

    - ``"huber"``, as `HuberRegressor <sklearn.linear_model.HuberRegressor>`, over a scale sigma > 0 too:
      ``sum_i s_i (sigma + sigma H(r_i / sigma)) + alpha |w|^2``, with ``H(z) = z^2`` for ``|z| < epsilon`` and
      ``2 epsilon |z| - epsilon^2`` beyond;
    - ``"quantile"``: ``sum_i s_i max(q r_i, (q - 1) r_i) / S + alpha |w|^2 / 2``, as
      `QuantileRegressor <sklearn.linear_model.QuantileRegressor>` but for its penalty of absolute values;
    - ``"poisson"``, as `PoissonRegressor <sklearn.linear_model.PoissonRegressor>`:
      ``sum_i s_i (e^{f_i} - y_i f_i) / S + alpha |w|^2 / 2``, half the mean deviance up to a constant;
    - ``"epsilon_insensitive"``: ``sum_i s_i max(0, |r_i| - epsilon) / S + alpha |w|^2 / 2``, that of
      `LinearSVR <sklearn.svm.LinearSVR>` with ``C = 1 / (alpha S)`` and its intercept unpenalised;
    - ``"squared_epsilon_insensitive"``: the same with ``max(0, |r_i| - epsilon)^2``.

    Parameters
    ----------
    loss : {"huber", "quantile", "poisson", "epsilon_insensitive", "squared_epsilon_insensitive"}, default="huber"
    alpha : float, default=1e-4
        Of at least 0. The intercept is not penalised.
    epsilon : float or None, default=None
        Above 1 for ``"huber"`` (None: 1.35), at least 0 for the insensitive losses (None: 0.1); no other has one.
    quantile : float, default=0.5
        Between 0 and 1, for ``"quantile"``.
    fit_intercept : bool, default=True
        b.
    solver : {"newton-cg", "lbfgs"}, default="newton-cg"
        As of `CodeLogisticRegression`.
    tol : float or None, default=None
        Of the gradient, relative to that at zero coefficients; of sigma, relative; and for ``"quantile"`` and
        ``"epsilon_insensitive"``, which have no gradient, of the objective: it is above a lower bound on the least
        there is by at most about tol of its value at zero coefficients. None: 1e-5, and 1e-10 in newton-cg on arrays,
        not codes, of up to a million entries, where that takes no time.
    max_iter : int or None, default=None
        Most iterations in all; None: 100 of newton-cg, 1000 of lbfgs, for each smooth problem (see Notes).
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    verbose : int, default=0
        1 prints progress now and then, 2 each iteration.

    Attributes
    ----------
    coef_ : array of shape (m,)
    intercept_ : float
    scale_ : float
        sigma of ``"huber"``.
    n_iter_ : int
    n_products_ : int
        Products with Z or its transpose.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Notes
    -----
    ``"huber"`` alternates between coefficients and sigma. ``"quantile"`` and ``"epsilon_insensitive"`` are solved by
    the method of multipliers: smooth problems, each started where the last one ended, whose solutions tend to that
    of the loss itself. Half a dozen problems are common, the later ones of one or two iterations.

    See Also
    --------
    CodeRidge : squares, solved without iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import FourierFeatures
    >>> from nanogram.linear_model import CodeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (500, 2))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> y[::50] += 100.0
    >>> Z = FourierFeatures(256, bits=4, random_state=0).fit_transform(X)
    >>> model = CodeRegressor("huber", alpha=0.1).fit(Z, y)
    >>> bool(np.abs(model.predict(Z) - np.sin(3 * X[:, 0])).mean() < 0.1)
    True
    >>> above = CodeRegressor("quantile", quantile=0.9, alpha=1e-3).fit(Z, y)
    >>> round(float((y <= above.predict(Z)).mean()), 1)
    0.9
    """

    scale_: float

    def __init__(
        self,
        loss: str = "huber",
        *,
        alpha: float = 1e-4,
        epsilon: float | None = None,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        solver: str = "newton-cg",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to features X (n, m) and targets y (n,).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,)
            Numbers, of at least 0 for ``"poisson"``.
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        """
        loss = self._checked_loss()
        alpha = checked_number("alpha", self.alpha, "a number of at least 0", lambda one: 0.0 <= one < math.inf)
        solver = self._checked_solver()
        tol, max_iter = self._checked_stops()
        design = read_features(self, X, reset=True)
        targets = self._checked_targets(y, design.shape[0])
        weights = checked_weights(sample_weight, design.shape[0])
        total = float(design.shape[0] if weights is None else weights.sum())
        objective = Objective(
            design,
            loss,
            targets[:, None],
            1,
            weights=weights,
            penalty=2.0 * alpha if self.loss == "huber" else alpha * total,
            fit_intercept=bool(self.fit_intercept),
        )
        with progress(self, None, X=X, y=y, sample_weight=sample_weight) as tick:
            result = self._minimise(objective, tick, solver, Stop.of(tol, objective, solver), max_iter)
        coef, intercept = self._split(result.point.theta)
        self.coef_, self.intercept_ = coef[0], float(intercept[0])
        self.n_iter_ = tick.count
        self.n_products_ = objective.n_products
        return self

    def predict(self, X: Any) -> Float64:
        """Predicted targets, (n,): f, or e^f for ``"poisson"``."""
        raw = self._raw(X)[:, 0]
        return np.asarray(np.exp(raw) if self.loss == "poisson" else raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R^2; for ``"poisson"``, as PoissonRegressor's, the share of deviance D^2.

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        """
        if self.loss != "poisson":
            return float(super().score(X, y, sample_weight))
        predicted = np.maximum(self.predict(X), 1e-150)  # e^f that vanishes has a deviance too
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    # ------------------------------------------------------------------ settings

    def _checked_loss(self) -> Loss:
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is not accepted; {', '.join(map(repr, LOSSES))} are")
        if self.loss == "poisson":
            return Poisson()
        if self.loss == "quantile":
            return Pinball(
                checked_number("quantile", self.quantile, "a number between 0 and 1", lambda one: 0.0 < one < 1.0)
            )
        epsilon = EPSILON[self.loss] if self.epsilon is None else self.epsilon
        if self.loss == "huber":
            accepted = "with loss='huber' None or a number above 1"
            return Huber(checked_number("epsilon", epsilon, accepted, lambda one: 1.0 < one < math.inf))
        epsilon = checked_number(
            "epsilon", epsilon, "None or a number of at least 0", lambda one: 0.0 <= one < math.inf
        )
        return EpsilonInsensitive(epsilon) if self.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive(epsilon)

    def _checked_targets(self, y: Any, n_rows: int) -> Float64:
        _refuse_none(self, y)
        targets: Float64 = np.asarray(_check_y(y, y_numeric=True, estimator=self), dtype=np.float64)
        check_consistent_length(np.empty((n_rows, 0)), targets)
        if self.loss == "poisson" and (targets < 0).any():
            bad = int(np.flatnonzero(targets < 0)[0])
            raise ValueError(f"y[{bad}] is {targets[bad]}; with loss='poisson' targets of at least 0 are accepted")
        return targets

    # ------------------------------------------------------------------ solution

    def _minimise(self, objective: Objective, tick: Progress, solver: str, stop: Stop, max_iter: int | None) -> Result:
        """The solution; smooth losses are one problem, others several."""
        loss, y, weights = objective.loss, objective.y[:, 0], objective.weights
        center = self._center(y, None if weights is None else weights[:, 0])
        spread = _mean(np.abs(y - center), weights) or 1.0
        if isinstance(loss, Huber):
            found = huber_scale(y - center, None if weights is None else weights[:, 0], loss.epsilon)
            loss.sigma = found or spread
        several = isinstance(loss, Huber | Pinball | EpsilonInsensitive)
        if isinstance(loss, Pinball | EpsilonInsensitive):
            loss.mu = 0.3 * spread
        origin, start = Origin.of(objective, np.array([center])), self._start(objective)

        def fit(point: Point | None, to: float) -> Result:
            left = None if max_iter is None else max(max_iter - tick.count, 0)
            return minimise(
                objective,
                origin,
                start=point,
                solver=solver,
                stop=Stop(to, max(to, stop.enough)),
                max_iter=left,
                tick=tick,
                model=self._attributes,
                warn=not several,
            )

        if not several:
            return fit(start, stop.tol)
        if isinstance(loss, Huber):
            result, self.scale_ = with_scale(objective, fit, start, float(loss.sigma), stop.tol)
            left, reached = not result.converged, "a gradient that is too large for the last scale"
        else:
            assert isinstance(loss, Pinball | EpsilonInsensitive), "what several leaves"
            values = unsmoothed(loss).value(y, origin.point.raw[:, 0])
            unit = float(values.sum() if weights is None else values @ weights[:, 0]) or 1.0
            result, gap = by_multipliers(objective, fit, start or origin.point, loss.mu, unit, stop.tol)
            left, reached = gap > stop.enough, f"an objective that may be {gap:.1e} of its first value too large"
        if left and not result.stopped:
            advise(tick.count, reached, stop.enough, solver)
        return result

    def _center(self, y: Float64, weights: Float64 | None) -> float:
        """A good intercept for zero coefficients, as f."""
        mean = float(np.average(y, weights=weights))
        if self.loss == "poisson":
            return math.log(mean) if mean > 0.0 else -10.0
        if self.loss == "squared_epsilon_insensitive":
            return mean
        order = np.argsort(y)
        mass = np.cumsum(np.ones(len(y)) if weights is None else weights[order])
        share = self.quantile if self.loss == "quantile" else 0.5
        return float(y[order[min(int(np.searchsorted(mass, share * mass[-1])), len(y) - 1)]])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    def _attributes(self, theta: Float64) -> dict[str, Any]:
        coef, intercept = self._split(theta)
        return {"coef_": coef[0], "intercept_": float(intercept[0])}


def _mean(values: Float64, weights: Float64 | None) -> float:
    return float(np.average(values, weights=None if weights is None else weights[:, 0]))
