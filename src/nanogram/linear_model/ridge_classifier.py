"""`CodeRidgeClassifier`: classes by ridge regression on codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from ._callbacks import progress, with_callbacks
from ._design import checked_weights, read_features
from ._ridge_base import RidgeBase
from ._ridge_search import search
from ._ridge_solve import choose_solver
from ._targets import Labels, checked_alpha, class_weights

__all__ = ["CodeRidgeClassifier"]

Array = npt.NDArray[Any]


class CodeRidgeClassifier(ClassifierMixin, RidgeBase):
    """Classes by ridge regression of -1 and 1, one column for two classes, else one a class.

    As scikit-learn's `RidgeClassifier <sklearn.linear_model.RidgeClassifier>`, on codes, with alpha chosen by
    generalised cross-validation unless it is given.

    Parameters
    ----------
    alpha : float, array of shape (n_targets,) or None, default=None
        At least 0; None: chosen among ``alphas``.
    fit_intercept : bool, default=True
        As in `CodeRidge`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the rows of each class, times those given to fit.
    alphas : array, float or "auto", default="auto"
        As in `CodeRidgeCV`; counts where alpha is None.
    cv, scoring
        As in `CodeRidgeCV`: how alpha is chosen. Without a scorer folds go by accuracy, ``"gcv"`` and ``"loo"``
        by squared error.
    solver, dual, max_memory, max_iter, warm_start, random_state, verbose
        As in `CodeRidge`.
    tol : float, default=1e-3
        Conjugate gradients stop at this relative residual: far beyond what classes depend on.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        For multilabel targets the positions of the labels.
    coef_ : array of shape (1, m) for two classes, else (n_classes, m)
    intercept_ : array of shape (1,) or (n_classes,)
    alpha_ : float or array of shape (n_targets,)
        Used.
    best_score_, alphas_, scores_
        Where alpha was chosen: as of `CodeRidgeCV`.
    n_iter_, solver_, dual_, n_features_in_, feature_names_in_
        As of `CodeRidge`.

    See Also
    --------
    CodeLogisticRegression : probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.linear_model import CodeRidgeClassifier
    >>> X = np.random.default_rng(0).standard_normal((600, 3))
    >>> y = np.where((X**2).sum(axis=1) > 2.4, "outside", "inside")
    >>> Z = TernaryFeatures(512, random_state=0).fit_transform(X)
    >>> model = CodeRidgeClassifier().fit(Z[:500], y[:500])
    >>> model.classes_.tolist(), model.score(Z[500:], y[500:]) > 0.85
    (['inside', 'outside'], True)
    """

    def __init__(
        self,
        alpha: Any = None,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        alphas: Any = "auto",
        cv: Any = None,
        scoring: Any = None,
        solver: str = "auto",
        dual: bool | str = "auto",
        max_memory: int | str | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        warm_start: bool = False,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.solver = solver
        self.dual = dual
        self.max_memory = max_memory
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # What the search reads and a classifier does not offer.
    alpha_per_target = False
    store_cv_results = False
    keep_factor = False

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to features X (n, m) and classes y.

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,), or (n, n_labels) of 0 and 1
            Numbers or strings, at least two classes.
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        """
        self._check_settings()
        design = read_features(self, X, reset=True)
        labels = Labels(self, y, design.shape[0])
        weights = class_weights(self.class_weight, labels, checked_weights(sample_weight, design.shape[0]))
        alpha = None if self.alpha is None else checked_alpha(self.alpha, labels.targets.shape[1])
        choice = choose_solver(design, self.solver, self.dual, self.max_memory)
        found = None
        with progress(self, None, X=X, y=y, sample_weight=sample_weight) as tick:
            if alpha is None:
                found = search(self, design, labels.targets, weights, labels.y, labels, tick)
                alpha = found.alpha
            self.alpha_ = float(alpha[0]) if self.alpha is None or np.ndim(self.alpha) == 0 else alpha
            fitted = self._solve(design, labels.targets, weights, alpha, choice, tick)
        self.classes_, self._multilabel = labels.classes, labels.multilabel
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept
        if found is not None:
            self.alphas_, self.scores_, self.best_score_ = found.alphas, found.scores, found.best_score
        return self

    def decision_function(self, X: Any) -> Array:
        """``z.w + b``: (n,) for two classes, else (n, n_classes).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        """
        _, raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> Array:
        """Classes, (n,); for multilabel targets 0 and 1, (n, n_labels).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        """
        _, raw = self._raw(X)
        if self._multilabel:
            return (raw > 0).astype(np.int64)
        index = np.argmax(raw, axis=1) if raw.shape[1] > 1 else (raw[:, 0] > 0).astype(np.intp)
        return np.asarray(self.classes_[index])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
