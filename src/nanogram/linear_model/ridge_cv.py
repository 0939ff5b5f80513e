"""`CodeRidgeCV`: ridge regression on codes that chooses alpha."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin

from ._callbacks import progress, with_callbacks
from ._design import checked_weights, read_features
from ._ridge_base import RegressorBase
from ._ridge_search import search
from ._ridge_solve import choose_solver
from ._targets import checked_targets

__all__ = ["CodeRidgeCV"]

Float64 = npt.NDArray[np.float64]


class CodeRidgeCV(MultiOutputMixin, RegressorMixin, RegressorBase):
    r"""`CodeRidge` with alpha chosen among many, all of them for the price of about one.

    Parameters
    ----------
    alphas : array, float or "auto", default="auto"
        Numbers above 0. ``"auto"``: 15 from 1e-5 to 1e2 times the mean squared norm of the centred rows.
    fit_intercept : bool, default=True
        As in `CodeRidge`.
    cv : None, "gcv", "loo", int, splitter or iterable, default=None
        None and ``"gcv"``: generalised cross-validation, at no cost beside the decomposition. ``"loo"``: exact
        leave-one-out, with eigenvectors (three matrices) and one more pass over the rows. Else folds, as
        `sklearn.model_selection.check_cv` takes them; each fold has a decomposition of its own.
    scoring : str, callable or None, default=None
        None: the mean squared error with ``"gcv"`` and ``"loo"``, R2 with folds. A scorer needs ``"loo"`` or folds.
    alpha_per_target : bool, default=False
        An alpha of its own for each target.
    store_cv_results : bool, default=False
        With ``cv="loo"``: keep the squared errors, or the predictions where there is a scorer.
    solver, dual, max_memory, keep_factor, tol, max_iter, random_state, verbose
        As in `CodeRidge`. Where no Gram matrix fits, GCV comes from one run of Lanczos with random signs
        (`random_state`): residuals to 1e-3, degrees of freedom D with a standard deviation of up to sqrt(D / 4).

    Attributes
    ----------
    alpha_ : float or array of shape (n_targets,)
        An array with ``alpha_per_target`` and several targets.
    best_score_ : float or array of shape (n_targets,)
        More is better: the negative of errors.
    alphas_ : array of shape (n_alphas,)
        As tried.
    scores_ : array of shape (n_alphas,) or (n_alphas, n_targets)
        Score of each of them.
    cv_results_ : array of shape (n, n_alphas) or (n, n_targets, n_alphas)
        With ``store_cv_results``; times the weights, as scikit-learn's; rows of weight 0 are zeros.
    coef_, intercept_, noise_variance_, n_iter_, solver_, dual_, n_features_in_, feature_names_in_
        As of `CodeRidge`, fitted with ``alpha_`` to all rows.

    See Also
    --------
    CodeRidge : for a given alpha; its Notes hold here.

    Notes
    -----
    The features' scatter matrix is brought to tridiagonal form in its own memory; after that an alpha costs
    a few operations a feature. GCV, with H the matrix that takes targets to fitted values,

        GCV(alpha) = (1/n) sum_i s_i e_i^2 / (1 - tr H / n)^2

    is leave-one-out with all leverages replaced by their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import FourierFeatures
    >>> from nanogram.linear_model import CodeRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (500, 2))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> Z = FourierFeatures(256, bits=4, random_state=0).fit_transform(X)
    >>> model = CodeRidgeCV().fit(Z, y)
    >>> len(model.alphas_), model.score(Z, y) > 0.97
    (15, True)
    """

    def __init__(
        self,
        alphas: Any = "auto",
        *,
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        alpha_per_target: bool = False,
        store_cv_results: bool = False,
        solver: str = "auto",
        dual: bool | str = "auto",
        max_memory: int | str | None = None,
        keep_factor: bool | str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.alpha_per_target = alpha_per_target
        self.store_cv_results = store_cv_results
        self.solver = solver
        self.dual = dual
        self.max_memory = max_memory
        self.keep_factor = keep_factor
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    # There is no last fit to start from: each search begins anew.
    warm_start = False

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose alpha and fit to all rows.

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,) or (n, n_targets)
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        """
        self._check_settings()
        design = read_features(self, X, reset=True)
        Y, single = checked_targets(self, y, design.shape[0])
        weights = checked_weights(sample_weight, design.shape[0])
        with progress(self, None, X=X, y=y, sample_weight=sample_weight) as tick:
            found = search(self, design, Y, weights, Y[:, 0] if single else Y, None, tick)
            choice = choose_solver(design, self.solver, self.dual, self.max_memory)
            fitted = self._solve(design, Y, weights, found.alpha, choice, tick)
        self._publish(fitted, single)
        self.alphas_, self.scores_, self.best_score_ = found.alphas, found.scores, found.best_score
        self.alpha_ = found.alpha if self.alpha_per_target else float(found.alpha[0])
        if single and self.alpha_per_target:
            self.alpha_, self.best_score_ = float(found.alpha[0]), float(found.best_score[0])
            self.scores_ = found.scores[:, 0]
        if found.left_out is not None:
            self.cv_results_ = found.left_out[:, 0] if single else found.left_out
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted targets, (n,) or (n, n_targets); with ``return_std`` their standard deviations too.

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        return_std : bool, default=False
            See Notes of `CodeRidge`.
        """
        return self._predict(X, return_std)
