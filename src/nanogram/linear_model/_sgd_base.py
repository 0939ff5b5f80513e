"""What `CodeSGDClassifier` and `CodeSGDRegressor` share: settings, rows held out, `fit` and `partial_fit`."""

from __future__ import annotations

import numbers
import operator
import warnings
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nanogram.code_matrix import CodeMatrix
from nanogram.projections import Stream, seed_from

from ._callbacks import CallbackSupportMixin, progress
from ._design import Design, as_design, read_features
from ._rates import spread_of
from ._sgd_problem import Problem
from ._sgd_steps import Plain, Settings
from .halp import HALP, LowPrecision
from .losses import Loss
from .sgd import Heldout, Result, Threads, minimise, pairs, rate_of, started

__all__ = ["SOLVERS", "SGDBase", "Targets", "has_steps"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
SOLVERS = ("sgd", "halp", "halp-sgd", "low-precision")


class Targets(NamedTuple):
    """A loss and the targets of rows, as it wants them."""

    loss: Loss
    y: Array
    k: int


def has_steps(estimator: Any) -> bool:
    """Whether an estimator can go on with other rows."""
    if estimator.solver != "sgd":
        raise AttributeError(f"partial_fit is for solver='sgd'; solver={estimator.solver!r} needs all rows at once")
    return True


class SGDBase(CallbackSupportMixin, BaseEstimator):
    """Coefficients (k, m) and intercepts (k,) by mini-batches; subclasses turn y into `Targets`."""

    loss: Any
    alpha: Any
    solver: Any
    model_bits: Any
    batch_size: Any
    learning_rate: Any
    eta0: Any
    momentum: Any
    average: Any
    max_iter: Any
    tol: Any
    n_halvings: Any
    validation_fraction: Any
    shuffle: Any
    resample: Any
    fit_intercept: Any
    warm_start: Any
    random_state: Any
    verbose: Any
    coef_: Float64
    intercept_: Any
    _run: Plain
    _calls: int
    eta_: float
    n_iter_: int
    validation_losses_: Float64
    learning_rates_: Float64

    # ------------------------------------------------------------------ settings

    def _settings(self) -> Settings:
        """The parameters, checked."""
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} is not known; {', '.join(map(repr, SOLVERS))} are accepted")
        if self.solver != "sgd" and (self.momentum or self.average):
            raise ValueError(f"momentum and average are for solver='sgd', not for solver={self.solver!r}")
        if self.model_bits not in (8, 16):
            raise ValueError(f"model_bits={self.model_bits!r} is not accepted; 8 and 16 are")
        if self.learning_rate not in ("halving", "constant"):
            raise ValueError(f"learning_rate={self.learning_rate!r} is not known; 'halving' and 'constant' are")
        if self.shuffle not in ("auto", "rows", "tiles"):
            raise ValueError(f"shuffle={self.shuffle!r} is not known; 'auto', 'rows' and 'tiles' are accepted")
        for name, least in (("batch_size", 1), ("max_iter", 1), ("n_halvings", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value is True or value < least:
                raise ValueError(f"{name}={value!r} is not accepted; an integer of at least {least} is")
        if not (isinstance(self.eta0, str) and self.eta0 == "auto"):
            self._number("eta0", 0.0, np.inf, "'auto' or a number above 0", low_too=False)
        self._number("alpha", 0.0, np.inf, "a number of at least 0")
        self._number("momentum", 0.0, 1.0, "a number of at least 0 and below 1")
        self._number("tol", 0.0, 1.0, "a number of at least 0 and below 1")
        if self.validation_fraction is not None:
            self._number("validation_fraction", 0.0, 1.0, "None or a number of at least 0 and below 1")
        return Settings(
            batch_size=operator.index(self.batch_size),
            schedule=self.learning_rate,
            eta0=self.eta0 if isinstance(self.eta0, str) else float(self.eta0),
            momentum=float(self.momentum),
            average=self.average,
            max_iter=operator.index(self.max_iter),
            tol=float(self.tol),
            n_halvings=operator.index(self.n_halvings),
            shuffle=self.shuffle,
            resample=False,
            seed=seed_from(self.random_state),
        )

    def _number(self, name: str, low: float, high: float, accepted: str, *, low_too: bool = True) -> None:
        value = getattr(self, name)
        right = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        if not (right and (low <= value if low_too else low < value) and value < high):
            raise ValueError(f"{name}={value!r} is not accepted; {accepted} is")

    def _resamples(self, designs: list[Design | None]) -> bool:
        """Whether rounding noise is drawn anew in each epoch."""
        able = any(getattr(design, "stochastic", False) for design in designs)
        if self.resample not in (True, False, "auto"):
            raise ValueError(f"resample={self.resample!r} is not accepted; True, False and 'auto' are")
        if self.resample is True and not able:
            raise ValueError(
                "resample=True needs rows at hand and codes that are rounded stochastically: pass "
                "nanogram.streamed.StreamedCodes of a map with rounding='stochastic'"
            )
        return able and self.resample is not False

    def _stepper(self) -> Any:
        bits = int(self.model_bits)
        if self.solver == "sgd":
            return Plain
        if self.solver == "low-precision":
            return partial(LowPrecision, bits=bits)
        return partial(HALP, bits=bits, variance_reduced=self.solver == "halp")

    # ------------------------------------------------------------------ rows held out

    def _split(self, n: int, groups: Array | None, seed: int) -> tuple[Int64, Int64]:
        """Training and heldout rows, ascending; a class keeps at least one training row."""
        fraction = self.validation_fraction
        if not fraction or self.learning_rate == "constant":
            return np.arange(n), np.empty(0, dtype=np.int64)
        order = Stream(seed, "sgd.heldout").permutation(n)
        groups = np.zeros(n, dtype=np.int64) if groups is None else groups
        held = []
        for group in np.unique(groups):
            members = order[groups[order] == group]
            held.append(members[: min(round(float(fraction) * len(members)), len(members) - 1)])
        out = np.sort(np.concatenate(held))
        kept = np.ones(n, dtype=bool)
        kept[out] = False
        return np.flatnonzero(kept), out

    def _given(self, X_val: Any, y_val: Any) -> bool:
        """Whether heldout rows are given, whole."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither")
        return X_val is not None

    # ------------------------------------------------------------------ fitting

    def _second(self, X: Any, design: Design) -> Design | None:
        """Codes of the same rows, rounded independently."""
        if X is None:
            return None
        other = as_design(X) if isinstance(X, CodeMatrix | Design) else read_features(self, X, reset=False)
        if other.shape != design.shape:
            raise ValueError(f"X_second has shape {other.shape}; that of X, {design.shape}, is accepted")
        return other

    def _minimise(
        self,
        design: Design,
        targets: Targets,
        weights: Float64 | None,
        heldout: Heldout | None,
        split: tuple[Int64, Int64],
        second: Design | None,
        told: dict[str, Any],
    ) -> Result:
        """Fit and publish."""
        settings = self._settings()
        rows, held = split
        if heldout is None and len(held):
            val_weights = None if weights is None else weights[held]
            if val_weights is not None and not val_weights.any():
                rows, val_weights = np.arange(design.shape[0]), None
            else:
                heldout = Heldout(design.rows(held), targets.y[held], val_weights)
        if weights is not None and not (weights[rows] > 0).any():
            rows = np.arange(design.shape[0])
        settings = replace(settings, resample=self._resamples([design, second]))
        start = None
        if (
            self.warm_start
            and hasattr(self, "coef_")
            and np.atleast_2d(self.coef_).shape
            == (
                targets.k,
                design.shape[1],
            )
        ):
            start = np.atleast_2d(self.coef_).T.copy(), np.atleast_1d(self.intercept_).astype(np.float64)
        with progress(self, settings.max_iter, **told, step="epoch") as tick:

            def told_of(*, model: Any, loss: float, rate: float) -> bool:
                def attributes() -> dict[str, Any]:
                    W, b = model()
                    return self._shaped(W, b)

                return tick(model=attributes, loss=loss, rate=rate)

            result = minimise(
                design,
                targets.loss,
                targets.y,
                targets.k,
                weights=weights,
                penalty=float(self.alpha),
                fit_intercept=bool(self.fit_intercept),
                settings=settings,
                heldout=heldout,
                rows=rows,
                backward=second,
                start=start,
                stepper=self._stepper(),
                tick=told_of,
            )
            tick.interrupted = result.interrupted
        self._publish(result)
        self._warn(result, settings)
        return result

    def _publish(self, result: Result) -> None:
        for name, value in self._shaped(result.coef, result.intercept).items():
            setattr(self, name, value)
        self.n_iter_ = result.n_iter
        self.validation_losses_ = np.array(result.history)
        self.learning_rates_ = np.array(result.rates)
        if hasattr(self, "_run"):
            del self._run

    def _warn(self, result: Result, settings: Settings) -> None:
        message = None
        if result.interrupted:
            message = f"interrupted after {result.n_iter} epochs; the best model so far is kept"
        elif not np.isfinite(result.history).any() or not np.isfinite(result.coef).all():
            message = (
                f"no epoch ended with a finite loss: eta0={self.eta0} is too large; a smaller one, or 'auto', helps"
            )
        elif not result.converged and result.n_iter == settings.max_iter:
            message = (
                f"{result.n_iter} epochs ended before {settings.n_halvings} halvings of the learning rate: raise "
                "max_iter, or lower n_halvings"
            )
        if message:
            warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _shaped(self, W: Float64, b: Float64) -> dict[str, Any]:
        """Fitted attributes from W (m, k) and b (k,)."""
        raise NotImplementedError

    # ------------------------------------------------------------------ partial_fit

    def _step_through(self, design: Design, targets: Targets, weights: Float64 | None, second: Design | None) -> Self:
        """One epoch over these rows at a fixed rate, from where the last call ended."""
        settings = self._settings()
        first = not hasattr(self, "_run")
        last = None if first else self._run.problem
        problem = Problem(
            design,
            targets.loss,
            targets.y,
            targets.k,
            weights=weights,
            penalty=float(self.alpha),
            fit_intercept=bool(self.fit_intercept),
            backward=second,
            centre=None if last is None else np.zeros(design.shape[1]) if last.centre is None else last.centre,
            seed=settings.seed,
        )
        if last is None:
            self._calls = 0
            start = None
            if hasattr(self, "coef_"):  # fitted before: go on from there
                start = np.atleast_2d(self.coef_).T.copy(), np.atleast_1d(self.intercept_).astype(np.float64)
            W, b = started(problem, start)
            problem.spread = spread_of(problem.sample, problem.centre, settings.batch_size)
            self.eta_ = rate_of(problem, settings, b)
            self._run = Plain(problem, settings, W, b)
        else:
            problem.spread = last.spread
            self._run.problem, self._run.settings = problem, settings
        with Threads(problem, settings).limited():
            self._run.epoch(pairs(problem, settings, self._calls), self.eta_, self._calls)
        self._calls += 1
        W, b = self._run.model()
        for name, value in self._shaped(W, problem.intercept(W, b)).items():
            setattr(self, name, value)
        self.n_iter_ = 1
        # Rows are the caller's: nothing of them is kept between calls.
        problem.forget()
        return self

    def _raw(self, X: Any) -> Float64:
        """``Z W + b``, (n, k)."""
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        W = np.ascontiguousarray(np.atleast_2d(self.coef_).T)
        return np.asarray(design.matvec(W) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
