"""`CodeSGDClassifier`: classes by mini-batches of codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ._callbacks import with_callbacks
from ._design import checked_weights, read_features
from ._sgd_base import SGDBase, Targets, has_steps
from ._sgd_losses import SquaredError
from ._targets import Labels, class_weights
from .losses import BinaryLogistic, MultinomialLogistic, SquaredHinge
from .sgd import Heldout

__all__ = ["CodeSGDClassifier"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
LOSSES = ("log_loss", "squared_hinge", "squared_error")


def _has_probabilities(estimator: Any) -> bool:
    if estimator.loss != "log_loss":
        raise AttributeError(f"probabilities are those of loss='log_loss', not of loss={estimator.loss!r}")
    return True


class CodeSGDClassifier(ClassifierMixin, SGDBase):
    r"""Linear classifier trained by mini-batches, as LP D.2 does, on packed codes, dense or sparse arrays.

    Minimises

        sum_i s_i l(y_i, w.z_i + b) / sum_i s_i + alpha / 2 |w|^2

    Parameters
    ----------
    loss : {"log_loss", "squared_hinge", "squared_error"}, default="log_loss"
        Cross entropy, of the softmax for more than two classes; or one class against the rest.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the rows of each class, times those given to fit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, m) for two classes, else (n_classes, m)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
        Epochs.
    validation_losses_, learning_rates_ : arrays of shape (n_iter,)
        Heldout loss after each epoch, and the rate in it.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    See Also
    --------
    CodeLogisticRegression : to convergence.
    CodeSGDRegressor : for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.linear_model import CodeSGDClassifier
    >>> X = np.random.default_rng(0).standard_normal((4000, 3))
    >>> y = np.where((X**2).sum(axis=1) > 2.4, "outside", "inside")
    >>> Z = TernaryFeatures(512, random_state=0).fit_transform(X)
    >>> model = CodeSGDClassifier(random_state=0).fit(Z[:3500], y[:3500])
    >>> model.score(Z[3500:], y[3500:]) > 0.9
    True
    """

    def __init__(
        self,
        loss: str = "log_loss",
        *,
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
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
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
        self.class_weight = class_weight
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
        """Fit to features X (n, m) and labels y (n,).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,)
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        X_val, y_val, sample_weight_val : optional
            Heldout rows, in place of a fraction of X's.
        X_second : CodeMatrix, array or Design, optional
            The same rows rounded independently: gradients take predictions from X and are multiplied back with
            these (double sampling, LP D.7.3).
        """
        self._settings()
        self._check_loss()
        design = read_features(self, X, reset=True)
        labels = Labels(self, y, design.shape[0], multilabel=False)
        self.classes_ = labels.classes
        weights = class_weights(self.class_weight, labels, checked_weights(sample_weight, design.shape[0]))
        targets = self._targets(np.asarray(labels.index))
        heldout = None
        if self._given(X_val, y_val):
            val = read_features(self, X_val, reset=False)
            index = self._index(y_val, "y_val", val.shape[0])
            heldout = Heldout(val, self._targets(index).y, checked_weights(sample_weight_val, val.shape[0]))
        split = self._split(design.shape[0] if heldout is None else 0, labels.index, self._settings().seed)
        if heldout is not None:
            split = np.arange(design.shape[0]), np.empty(0, dtype=np.int64)
        told = {"X": X, "y": y, "sample_weight": sample_weight}
        self._minimise(design, targets, weights, heldout, split, self._second(X_second, design), told)
        return self

    @available_if(has_steps)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, X_second: Any = None) -> Self:
        """One epoch over these rows, at the learning rate that the first call settled on (``eta_``).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All labels there will be; needed in the first call, unless the model has been fitted.
        sample_weight : float or array of shape (n,), optional
        X_second : CodeMatrix, array or Design, optional
            As of `fit`.
        """
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all labels at once: give partial_fit a dict of weights")
        self._settings()
        self._check_loss()
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        design = read_features(self, X, reset=not hasattr(self, "classes_"))
        if classes is not None:
            found = np.unique(classes)
            if not hasattr(self, "classes_"):
                if len(found) < 2:
                    raise ValueError(f"classes={classes!r} holds one class; at least two are needed")
                self.classes_ = found
            elif not np.array_equal(found, self.classes_):
                raise ValueError(f"classes={classes!r} is not the same as on the first call, {self.classes_!r}")
        index = self._index(y, "y", design.shape[0])
        weights = checked_weights(sample_weight, design.shape[0])
        if self.class_weight is not None:
            factors = np.array([float(self.class_weight.get(c, 1.0)) for c in self.classes_.tolist()])[index]
            weights = factors if weights is None else weights * factors
        return self._step_through(design, self._targets(index), weights, self._second(X_second, design))

    def _check_loss(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is not known; {', '.join(map(repr, LOSSES))} are accepted")

    def _index(self, y: Any, name: str, n_rows: int) -> Array:
        """Positions of labels among the classes."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape != (n_rows,):
            raise ValueError(f"{name} has shape {y.shape}; ({n_rows},) is accepted, one label a row")
        known = np.isin(y, self.classes_)
        if not known.all():
            raise ValueError(
                f"{name} holds {y[~known].tolist()[0]!r}, which is not among the classes {self.classes_!r}"
            )
        return np.asarray(np.searchsorted(self.classes_, y))

    def _targets(self, index: Array) -> Targets:
        k = len(self.classes_)
        if k == 2:
            one = (index == 1).astype(np.float64)[:, None]
            if self.loss == "log_loss":
                return Targets(BinaryLogistic(), one, 1)
            signs = 2.0 * one - 1.0
        elif self.loss == "log_loss":
            return Targets(MultinomialLogistic(), index, k)
        else:
            signs = np.where(index[:, None] == np.arange(k), 1.0, -1.0)
        return Targets(SquaredHinge() if self.loss == "squared_hinge" else SquaredError(), signs, signs.shape[1])

    def _shaped(self, W: Float64, b: Float64) -> dict[str, Any]:
        return {"coef_": np.ascontiguousarray(W.T), "intercept_": b}

    def decision_function(self, X: Any) -> Float64:
        """Raw predictions: (n,) for two classes, else (n, n_classes)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> Array:
        """Labels, (n,)."""
        raw = self.decision_function(X)
        index = (raw > 0).astype(np.int64) if raw.ndim == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes_[index])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float64:
        """Probabilities of classes, (n, n_classes), for ``loss="log_loss"``."""
        return np.exp(self._log_probabilities(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Float64:
        """Logarithms of probabilities."""
        return self._log_probabilities(X)

    def _log_probabilities(self, X: Any) -> Float64:
        raw = self.decision_function(X)
        if raw.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, raw), -np.logaddexp(0.0, -raw)])
        raw = raw - raw.max(axis=1, keepdims=True)
        return np.asarray(raw - np.log(np.exp(raw).sum(axis=1, keepdims=True)))
