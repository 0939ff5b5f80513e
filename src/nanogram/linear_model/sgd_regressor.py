"""`CodeSGDRegressor`: numbers by mini-batches of codes."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ._callbacks import with_callbacks
from ._design import checked_weights, read_features
from ._sgd_base import SGDBase, Targets, has_steps
from ._sgd_losses import HalfHuber, SquaredError
from ._targets import checked_targets
from .losses import EpsilonInsensitive, Loss, Pinball, Poisson, SquaredEpsilonInsensitive
from .sgd import Heldout

__all__ = ["CodeSGDRegressor"]

Float64 = npt.NDArray[np.float64]
LOSSES = ("squared_error", "huber", "quantile", "poisson", "epsilon_insensitive", "squared_epsilon_insensitive")


class CodeSGDRegressor(MultiOutputMixin, RegressorMixin, SGDBase):
    r"""Linear regression trained by mini-batches, as LP D.2 does, on packed codes, dense or sparse arrays.

    Minimises

        sum_i s_i l(y_i, w.z_i + b) / sum_i s_i + alpha / 2 |w|^2

    Parameters
    ----------
    loss : str, default="squared_error"
        ``"squared_error"`` (half the square), ``"huber"``, ``"epsilon_insensitive"``,
        ``"squared_epsilon_insensitive"``: as of scikit-learn's SGDRegressor; ``"quantile"``: the pinball loss;
        ``"poisson"``: half the deviance, with a logarithmic link (`predict` gives means).
    epsilon : float, default=0.1
        Of "huber" and the insensitive losses.
    quantile : float, default=0.5
        Of "quantile", between 0 and 1.
    alpha : float, default=1e-6
        Factor of ``|w|^2 / 2`` beside the mean loss, at least 0. LP trains without a penalty (0): early stopping
        regularises.
    fit_intercept : bool, default=True
        b, not penalised; columns are centred implicitly.
    solver : {"sgd", "halp", "halp-sgd", "low-precision"}, default="sgd"
        Steps in full precision; LM-HALP by SVRG or by SGD (`nanogram.linear_model.halp`), whose inner steps work on
        integers of ``model_bits``; or an integer model on one fixed grid, for comparison.
    model_bits : {8, 16}, default=8
        Of the integer solvers.
    batch_size : int, default=250
    learning_rate : {"halving", "constant"}, default="halving"
        The early stopping of LP D.2, or ``max_iter`` epochs at ``eta0``.
    eta0 : float or "auto", default="auto"
        First learning rate; "auto" goes by the curvature of a sample of rows.
    momentum : float, default=0.0
    average : bool or int, default=False
        The model is the mean of the iterates since the rate last changed; an integer: once so many rows were seen.
    max_iter : int, default=1000
        Most epochs.
    tol : float, default=0.01
        Gain of the heldout loss below which the rate is halved.
    n_halvings : int, default=10
        Training ends with this one.
    validation_fraction : float or None, default=0.1
        Rows held out where ``X_val`` is not given; None or 0: the objective on the training rows decides.
    shuffle : {"auto", "rows", "tiles"}, default="auto"
        ``"rows"`` picks rows of packed codes one by one, ``"tiles"`` neighbouring pairs, much faster.
    resample : bool or "auto", default="auto"
        Draw the rounding noise anew in each epoch (LP D.5); for streamed codes that are rounded stochastically.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    random_state : int, RandomState or None, default=None
        Of the order of rows, the rows held out and stochastic rounding.
    verbose : int, default=0
        1 prints progress now and then, 2 each epoch.

    Attributes
    ----------
    coef_ : array of shape (m,) or (n_targets, m)
    intercept_ : array of shape (1,) or (n_targets,)
    n_iter_ : int
        Epochs.
    validation_losses_, learning_rates_ : arrays of shape (n_iter,)
        Heldout loss after each epoch, and the rate in it.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Notes
    -----
    LP's Table 4 gives learning rates for the mean of squares, without the half: they count twice here.

    See Also
    --------
    CodeRidge : the exact solution for squared errors.
    CodeSGDClassifier : for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import FourierFeatures
    >>> from nanogram.linear_model import CodeSGDRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    >>> y = np.sin(3 * X[:, 0])
    >>> Z = FourierFeatures(512, bits=4, random_state=0).fit_transform(X)
    >>> model = CodeSGDRegressor(random_state=0).fit(Z, y)
    >>> model.score(Z, y) > 0.95
    True
    """

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        alpha: float = 1e-6,
        fit_intercept: bool = True,
        solver: str = "sgd",
        model_bits: int = 8,
        batch_size: int = 250,
        learning_rate: str = "halving",
        eta0: float | str = "auto",
        momentum: float = 0.0,
        average: bool | int = False,
        max_iter: int = 1000,
        tol: float = 0.01,
        n_halvings: int = 10,
        validation_fraction: float | None = 0.1,
        shuffle: str = "auto",
        resample: bool | str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.model_bits = model_bits
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.momentum = momentum
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.n_halvings = n_halvings
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.resample = resample
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        X_second: Any = None,
    ) -> Self:
        """Fit to features X (n, m) and targets y, (n,) or (n, n_targets).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,) or (n, n_targets)
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        X_val, y_val, sample_weight_val : optional
            Heldout rows, in place of a fraction of X's.
        X_second : CodeMatrix, array or Design, optional
            The same rows rounded independently: gradients take predictions from X and are multiplied back with
            these (double sampling, LP D.7.3), which makes those of squared errors unbiased.
        """
        self._settings()
        design = read_features(self, X, reset=True)
        Y, self._single = checked_targets(self, y, design.shape[0])
        weights = checked_weights(sample_weight, design.shape[0])
        targets = self._targets(Y)
        heldout = None
        split = np.arange(design.shape[0]), np.empty(0, dtype=np.int64)
        if self._given(X_val, y_val):
            val = read_features(self, X_val, reset=False)
            Y_val, _ = checked_targets(self, y_val, val.shape[0])
            if Y_val.shape[1] != Y.shape[1]:
                raise ValueError(f"y_val has {Y_val.shape[1]} targets; y has {Y.shape[1]}")
            heldout = Heldout(val, self._targets(Y_val).y, checked_weights(sample_weight_val, val.shape[0]))
        else:
            split = self._split(design.shape[0], None, self._settings().seed)
        told = {"X": X, "y": y, "sample_weight": sample_weight}
        self._minimise(design, targets, weights, heldout, split, self._second(X_second, design), told)
        return self

    @available_if(has_steps)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, X_second: Any = None) -> Self:
        """One epoch over these rows, at the learning rate that the first call settled on (``eta_``).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,) or (n, n_targets)
        sample_weight : float or array of shape (n,), optional
        X_second : CodeMatrix, array or Design, optional
            As of `fit`.
        """
        self._settings()
        design = read_features(self, X, reset=not hasattr(self, "coef_"))
        Y, single = checked_targets(self, y, design.shape[0])
        if hasattr(self, "coef_") and Y.shape[1] != len(np.atleast_2d(self.coef_)):
            raise ValueError(f"y has {Y.shape[1]} targets; the model has {len(np.atleast_2d(self.coef_))}")
        if not hasattr(self, "coef_"):
            self._single = single
        weights = checked_weights(sample_weight, design.shape[0])
        return self._step_through(design, self._targets(Y), weights, self._second(X_second, design))

    def _targets(self, Y: Float64) -> Targets:
        """The loss, its parameters checked, and targets within its domain."""
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is not known; {', '.join(map(repr, LOSSES))} are accepted")
        self._number("epsilon", 0.0, np.inf, "a number of at least 0", low_too=self.loss != "huber")
        if not (isinstance(self.quantile, numbers.Real) and 0.0 < self.quantile < 1.0):
            raise ValueError(f"quantile={self.quantile!r} is not accepted; a number between 0 and 1 is")
        if self.loss == "poisson":
            if (Y < 0).any():
                raise ValueError(f"loss='poisson' is for targets of at least 0; y holds {Y.min()}")
            if not (Y > 0).any():
                raise ValueError("loss='poisson' needs a target above 0; all of y are 0")
        losses: dict[str, Loss] = {
            "squared_error": SquaredError(),
            "huber": HalfHuber(float(self.epsilon)),
            "quantile": Pinball(float(self.quantile)),
            "poisson": Poisson(),
            "epsilon_insensitive": EpsilonInsensitive(float(self.epsilon)),
            "squared_epsilon_insensitive": SquaredEpsilonInsensitive(float(self.epsilon)),
        }
        return Targets(losses[self.loss], Y, Y.shape[1])

    def _shaped(self, W: Float64, b: Float64) -> dict[str, Any]:
        coef = W[:, 0].copy() if self._single else np.ascontiguousarray(W.T)
        return {"coef_": coef, "intercept_": b}

    def predict(self, X: Any) -> Float64:
        """Predicted targets (means for "poisson"), (n,) or (n, n_targets)."""
        raw = self._raw(X)
        if self.loss == "poisson":
            raw = np.exp(raw)
        return raw[:, 0] if self.coef_.ndim == 1 else raw
