"""`CodeRidge`: ridge regression straight on codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin

from ._callbacks import progress, with_callbacks
from ._design import checked_weights, read_features
from ._ridge_base import RegressorBase
from ._ridge_solve import choose_solver
from ._targets import checked_alpha, checked_targets

__all__ = ["CodeRidge"]

Float64 = npt.NDArray[np.float64]


class CodeRidge(MultiOutputMixin, RegressorMixin, RegressorBase):
    r"""Ridge regression on packed codes, dense or sparse arrays.

    Minimises, as scikit-learn's `Ridge <sklearn.linear_model.Ridge>` does,

        sum_i s_i (y_i - w.z_i - b)^2 + alpha |w|^2

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        At least 0; several: one a target.
    fit_intercept : bool, default=True
        b; the columns are centred implicitly.
    solver : {"auto", "cholesky", "eigen", "cg"}, default="auto"
        ``"cholesky"`` and ``"eigen"`` factorise the Gram matrix; ``"cg"`` needs products with the codes only.
        ``"auto"``: Cholesky where the matrix fits in `max_memory`, else conjugate gradients.
    dual : bool or "auto", default="auto"
        Factorise the (n, n) kernel matrix of the rows, not the (m, m) one of the features; ``"auto"``: where n < m.
    max_memory : int, str or None, default=None
        For the matrix and its factor, in bytes or as ``"4GB"``; None: half of what the machine has to spare.
    keep_factor : bool or "auto", default="auto"
        Keep what ``predict(return_std=True)`` needs, an (m, min(n, m)) array; ``"auto"``: of up to 64 MB.
    tol : float, default=1e-6
        Conjugate gradients stop at this relative residual of the normal equations.
    max_iter : int or None, default=None
        Most iterations; None: 1000.
    warm_start : bool, default=False
        Conjugate gradients start from the coefficients of the last fit.
    random_state : int or None, default=None
        Of the preconditioner's sketch; None is 0.
    verbose : int, default=0
        1 prints progress now and then, 2 each iteration.

    Attributes
    ----------
    coef_ : array of shape (m,) or (n_targets, m)
    intercept_ : float or array of shape (n_targets,)
    n_iter_ : array of shape (n_targets,)
        Of conjugate gradients; 1 where a factorisation in double solved at once.
    noise_variance_ : float or array of shape (n_targets,)
        See Notes.
    solver_ : str
        The solver used.
    dual_ : bool
        Whether the kernel matrix of the rows was factorised.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Notes
    -----
    **Accuracy.** Sums of integer codes are exact and everything after them is done in double. With alpha = 0, or so
    small that it is lost in rounding, and features that depend on each other linearly, the solution of least norm
    is given, with a warning.

    **Weights** count as repeated rows do.

    **Spread.** Ridge regression is the posterior mean for noise of variance sigma^2 and coefficients of variance
    sigma^2 / alpha. Its predictive standard deviation is, for a row z less the means of the columns,

        std^2 = sigma^2 (1 + 1 / sum_i s_i + z^T (Z^T S Z + alpha I)^-1 z)

    (the second term for the intercept), and sigma^2 = (sum_i s_i e_i^2 + alpha |w|^2) / (n - 1) is where the
    restricted likelihood of the targets is greatest: n counts rows of weight other than 0, less 1 for the intercept.

    See Also
    --------
    CodeRidgeCV : chooses alpha.
    CodeRidgeClassifier : for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import FourierFeatures
    >>> from nanogram.linear_model import CodeRidge
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> Z = FourierFeatures(512, bits=4, random_state=0).fit_transform(X)
    >>> model = CodeRidge(alpha=0.1).fit(Z, np.sin(3 * X[:, 0]))
    >>> model.score(Z, np.sin(3 * X[:, 0])) > 0.99
    True
    >>> mean, std = model.predict(Z[:3], return_std=True)
    >>> std.shape
    (3,)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        solver: str = "auto",
        dual: bool | str = "auto",
        max_memory: int | str | None = None,
        keep_factor: bool | str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        warm_start: bool = False,
        random_state: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.dual = dual
        self.max_memory = max_memory
        self.keep_factor = keep_factor
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to features X (n, m) and targets y, (n,) or (n, n_targets).

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
        alpha = checked_alpha(self.alpha, Y.shape[1])
        choice = choose_solver(design, self.solver, self.dual, self.max_memory)
        steps = None if choice.solver == "cg" else 1
        with progress(self, steps, X=X, y=y, sample_weight=sample_weight) as tick:
            fitted = self._solve(design, Y, weights, alpha, choice, tick)
        self._publish(fitted, single)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted targets, (n,) or (n, n_targets).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        return_std : bool, default=False
            Standard deviations too, of the same shape: see Notes of the class.
        """
        return self._predict(X, return_std)
