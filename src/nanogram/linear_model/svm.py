"""`CodeLinearSVC`: linear support vector classification straight on codes."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from ._callbacks import progress, with_callbacks
from ._design import checked_weights, read_features
from ._iterative import IterativeBase, checked_number, class_factors, label_index
from ._minimise import Origin, Stop, minimise
from ._objective import Objective
from ._targets import Labels
from .losses import SquaredHinge

__all__ = ["CodeLinearSVC"]

Float64 = npt.NDArray[np.float64]


class CodeLinearSVC(ClassifierMixin, IterativeBase):
    r"""Linear support vector classification with the squared hinge, on packed codes, dense or sparse arrays.

    Minimises, as scikit-learn's `LinearSVC <sklearn.svm.LinearSVC>` (liblinear) does,

        C sum_i s_i max(0, 1 - y_i (w.z_i + b))^2 + |w|^2 / 2 + b^2 / (2 intercept_scaling^2)

    with y of -1 and 1. More than two classes are one such problem each against all others; they share their passes
    over the codes.

    Parameters
    ----------
    C : float, default=1.0
        Above 0, inf for no penalty.
    fit_intercept : bool, default=True
        b.
    intercept_scaling : float or None, default=1.0
        liblinear's constant feature, whose coefficient is penalised; None penalises the intercept not at all.
    class_weight : dict, "balanced" or None, default=None
        Factors of s by class. With more than two classes a factor counts where its class is set against the others,
        for that class's rows, as in liblinear.
    solver : {"newton-cg", "lbfgs"}, default="newton-cg"
        As of `CodeLogisticRegression`.
    tol : float or None, default=None
        The solver stops where, in each problem, the gradient's norm is this part of that at zero coefficients. None:
        1e-5, and 1e-10 in newton-cg on arrays, not codes, of up to a million entries, where that takes no time.
    max_iter : int or None, default=None
        Most iterations; None: 100 of newton-cg, 1000 of lbfgs.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    verbose : int, default=0
        1 prints progress now and then, 2 each iteration.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, m) or (n_classes, m)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
    n_products_ : int
        Products with Z or its transpose, of all problems at once.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Notes
    -----
    The squared hinge has a derivative and, but for rows on the margin, a second one: Newton's method takes a few
    iterations, and rows beyond the margin count in none of its Hessian products. ``tol`` and interruption are as of
    `CodeLogisticRegression`.

    See Also
    --------
    CodeLogisticRegression : gives probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.linear_model import CodeLinearSVC
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    >>> Z = TernaryFeatures(512, random_state=0).fit_transform(X)
    >>> model = CodeLinearSVC().fit(Z, y)
    >>> model.coef_.shape, model.score(Z, y) > 0.95
    ((3, 512), True)
    """

    classes_: npt.NDArray[Any]

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        intercept_scaling: float | None = 1.0,
        class_weight: Any = None,
        solver: str = "newton-cg",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to features X (n, m) and labels y (n,).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,)
            Labels of at least two classes, of any type that sorts.
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        """
        C = checked_number("C", self.C, "a number above 0, inf included,", lambda one: one > 0.0)
        penalty = 0.0 if math.isinf(C) else 1.0 / C
        solver = self._checked_solver()
        tol, max_iter = self._checked_stops()
        design = read_features(self, X, reset=True)
        labels = Labels(self, y, design.shape[0], multilabel=False)
        weights = self._weights(labels, checked_weights(sample_weight, design.shape[0]))
        objective = Objective(
            design,
            SquaredHinge(),
            labels.targets,
            labels.targets.shape[1],
            weights=weights,
            penalty=penalty,
            fit_intercept=bool(self.fit_intercept),
            intercept_penalty=penalty * self._intercept_factor(),
        )
        start = self._start(objective)
        origin = Origin.of(objective, _intercepts(labels.targets, weights, objective.intercept_penalty))
        self.classes_ = labels.classes
        with progress(self, max_iter, X=X, y=y, sample_weight=sample_weight) as tick:
            result = minimise(
                objective,
                origin,
                start=start,
                solver=solver,
                stop=Stop.of(tol, objective, solver),
                max_iter=max_iter,
                tick=tick,
                model=self._attributes,
            )
        self.coef_, self.intercept_ = self._split(result.point.theta)
        self.n_iter_ = result.n_iter
        self.n_products_ = objective.n_products
        return self

    def _intercept_factor(self) -> float:
        if self.intercept_scaling is None:
            return 0.0
        scaling = checked_number(
            "intercept_scaling", self.intercept_scaling, "None or a number above 0", lambda one: 0.0 < one < math.inf
        )
        return scaling**-2

    def _weights(self, labels: Labels, weights: Float64 | None) -> Float64 | None:
        """Weights of rows with those of classes: (n,), or a column for each problem."""
        factors = class_factors(self.class_weight, labels, weights)
        if factors is None:
            return weights
        if len(labels.classes) == 2:
            result = factors[label_index(labels)][:, None]
        else:
            result = np.where(labels.targets > 0, factors, 1.0)
        return result if weights is None else result * weights[:, None]

    def decision_function(self, X: Any) -> Float64:
        """Raw predictions: (n,) for two classes, positive for the second, else (n, n_classes)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest raw prediction of each row."""
        raw = self._raw(X)
        index = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes_[index])


def _intercepts(targets: Float64, weights: Float64 | None, penalty: float) -> Float64:
    """The best for zero coefficients: within -1 and 1, so that every row counts and the loss is ``(1 - y b)^2``."""
    if weights is None:
        sums, total = targets.sum(axis=0), np.full(targets.shape[1], float(len(targets)))
    else:
        weights = weights if weights.ndim == 2 else weights[:, None]
        sums, total = (weights * targets).sum(axis=0), np.broadcast_to(weights.sum(axis=0), targets.shape[1:])
    return np.asarray(sums / (total + penalty / 2))
