"""`CodeLogisticRegression`: logistic regression of two or more classes straight on codes."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin

from nanogram.projections import seed_from

from ._callbacks import progress, with_callbacks
from ._design import checked_weights, read_features
from ._iterative import IterativeBase, checked_number, class_factors, label_index
from ._logistic_sgd import TOL, by_batches
from ._minimise import Origin, Stop, minimise
from ._objective import Objective
from ._targets import Labels
from .losses import BinaryLogistic, Loss, MultinomialLogistic

__all__ = ["CodeLogisticRegression"]

Float64 = npt.NDArray[np.float64]


class CodeLogisticRegression(ClassifierMixin, IterativeBase):
    r"""Logistic regression on packed codes, dense or sparse arrays.

    Minimises, as scikit-learn's `LogisticRegression <sklearn.linear_model.LogisticRegression>` does,

        C sum_i s_i l(y_i, W z_i + b) + |W|^2 / 2

    with ``l = log(1 + e^f) - y f`` for two classes, y of 0 and 1, and ``l = log sum_k e^{f_k} - f_y`` for more. The
    intercept is not penalised.

    Parameters
    ----------
    C : float, default=1.0
        Above 0, inf for no penalty.
    fit_intercept : bool, default=True
        b.
    class_weight : dict, "balanced" or None, default=None
        Factors of s by class; ``"balanced"``: in inverse proportion to the weight of the class's rows.
    solver : {"newton-cg", "lbfgs", "sgd"}, default="newton-cg"
        ``"newton-cg"`` is Newton's method, its steps by conjugate gradients on products with the codes,
        preconditioned by a sample of rows; ``"lbfgs"`` is limited-memory BFGS. ``"sgd"`` goes by mini-batches
        and stops early (LP D.2), by a tenth of the rows that is held out: its coefficients are not those of the
        least F. `CodeSGDClassifier` has its settings.
    tol : float or None, default=None
        newton-cg and lbfgs stop where the gradient's norm is this part of that at zero coefficients; what None means
        is in the notes. sgd halves its rate where the heldout loss gains less than this part of it (None: 0.01).
    max_iter : int or None, default=None
        Most iterations; None: 100 of newton-cg, 1000 of lbfgs, 1000 epochs of sgd.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    random_state : int, RandomState or None, default=None
        Of sgd: the order of rows, and the rows held out.
    verbose : int, default=0
        1 prints progress now and then, 2 each iteration.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, m) or (n_classes, m)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : array of shape (1,)
    n_products_ : int
        Products with Z or its transpose: what the fit cost. A gradient or a Hessian product takes two. Of sgd, two
        for each epoch.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Notes
    -----
    **Cost.** An iteration of newton-cg is one pass over the codes for the gradient and one for each conjugate gradient
    step. Beside the codes the fit holds a few arrays of (m, k) and (n, k) and 64 MB for the preconditioner.

    **Convergence.** With ``tol=None`` features of more than a million entries are fitted until the gradient's norm is
    1e-3 of that at zero coefficients and no entry of the gradient of the mean loss is above 1e-4. The latter is
    scikit-learn's default, so that the fit is at least as converged as one there. (A norm of 1e-5 is always enough:
    features of large values cannot reach 1e-4.) Smaller features are fitted to 1e-5, and in newton-cg to 1e-10 where
    they are arrays, not codes: that takes no time. For coefficients with three digits pass ``tol=1e-5``.

    **Accuracy.** Gradients come from products of precision "float32", and of double where ``tol`` is below 1e-5; see
    `CodeMatrix`. The reference of ``tol`` is no less than ``|Z|_F |r| / sqrt(n)``, r the residuals at zero
    coefficients: the gradient's norm if their signs were random.

    **Interruption.** Ctrl-C and callbacks that stop the fit keep the coefficients of the last iteration: F falls in
    each.

    See Also
    --------
    CodeLinearSVC : the squared hinge.
    CodeRidgeClassifier : solved without iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.linear_model import CodeLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> y = np.where((X**2).sum(axis=1) < 0.6, "inside", "outside")
    >>> Z = TernaryFeatures(512, random_state=0).fit_transform(X)
    >>> model = CodeLogisticRegression(C=10.0).fit(Z, y)
    >>> model.classes_, model.coef_.shape, model.score(Z, y) > 0.95
    (array(['inside', 'outside'], dtype='<U7'), (1, 512), True)
    >>> model.predict_proba(Z[:3]).shape
    (3, 2)
    """

    classes_: npt.NDArray[Any]

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "newton-cg",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
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
        solver = self._checked_solver(("sgd",))
        tol, max_iter = self._checked_stops()
        design = read_features(self, X, reset=True)
        labels = Labels(self, y, design.shape[0], multilabel=False)
        weights = checked_weights(sample_weight, design.shape[0])
        factors = class_factors(self.class_weight, labels, weights)
        if factors is not None:
            weights = factors[label_index(labels)] * (1.0 if weights is None else weights)
        loss, targets, intercept = _problem(labels, weights)
        objective = Objective(
            design,
            loss,
            targets,
            len(intercept),
            weights=weights,
            penalty=0.0 if math.isinf(C) else 1.0 / C,
            fit_intercept=bool(self.fit_intercept),
        )
        self.classes_ = labels.classes
        told = {"X": X, "y": y, "sample_weight": sample_weight}
        if solver == "sgd":
            return self._by_batches(objective, label_index(labels), TOL if tol is None else tol, max_iter, told)
        start, origin = self._start(objective), Origin.of(objective, intercept)
        with progress(self, max_iter, **told) as tick:
            result = minimise(
                objective,
                origin,
                start=start,
                solver=solver,
                stop=Stop.of(tol, objective, solver, mean=True),
                max_iter=max_iter,
                tick=tick,
                model=self._attributes,
            )
        self.coef_, self.intercept_ = self._split(result.point.theta)
        self.n_iter_ = np.array([result.n_iter], dtype=np.int32)
        self.n_products_ = objective.n_products
        return self

    def _by_batches(
        self, objective: Objective, index: npt.NDArray[np.int64], tol: float, max_iter: int | None, told: dict[str, Any]
    ) -> Self:
        start = None
        if self._is_start(objective):
            start = np.ascontiguousarray(self.coef_.T), np.asarray(self.intercept_, dtype=np.float64)
        with progress(self, max_iter, **told, step="epoch") as tick:
            result = by_batches(
                objective,
                index,
                start=start,
                tol=tol,
                max_iter=max_iter,
                seed=seed_from(self.random_state),
                tick=tick,
                model=lambda W, b: {"coef_": np.ascontiguousarray(W.T), "intercept_": b},
            )
        self.coef_, self.intercept_ = np.ascontiguousarray(result.coef.T), result.intercept
        self.n_iter_ = np.array([result.n_iter], dtype=np.int32)
        self.n_products_ = 2 * result.n_iter
        return self

    def decision_function(self, X: Any) -> Float64:
        """Raw predictions: (n,) for two classes, the log odds of the second, else (n, n_classes)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        raw = self._raw(X)
        index = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes_[index])

    def predict_log_proba(self, X: Any) -> Float64:
        """Logarithms of `predict_proba`, which do not underflow."""
        raw = self._raw(X)
        if raw.shape[1] == 1:
            return np.asarray(log_expit(np.hstack([-raw, raw])))
        return np.asarray(log_softmax(raw, axis=1))

    def predict_proba(self, X: Any) -> Float64:
        """Probabilities of the classes, (n, n_classes), in the order of ``classes_``."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


def _problem(labels: Labels, weights: Float64 | None) -> tuple[Loss, npt.NDArray[Any], Float64]:
    """The loss, its targets, and the best intercepts for zero coefficients: log odds, or logs of shares less a mean."""
    k, index = len(labels.classes), label_index(labels)
    counts = np.bincount(index, weights, k)
    # A class whose rows weigh nothing has no share; one row's worth of it keeps the start finite.
    logs = np.log(np.where(counts > 0, counts, counts.sum() / (index.size + 1)))
    if k == 2:
        return BinaryLogistic(), (index[:, None] == 1).astype(np.float64), logs[1:] - logs[:1]
    return MultinomialLogistic(), index, logs - logs.mean()
