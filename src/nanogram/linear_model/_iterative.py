"""What the estimators fitted by iterations share: settings, warm starts, raw predictions."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from ._callbacks import CallbackSupportMixin
from ._design import read_features
from ._minimise import SOLVERS
from ._objective import Objective, Point
from ._targets import Labels

__all__ = ["IterativeBase", "checked_integer", "checked_number", "class_factors", "label_index"]

Float64 = npt.NDArray[np.float64]


def checked_number(name: str, value: Any, accepted: str, allowed: Callable[[float], bool]) -> float:
    """A number, or an error that says what is accepted."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} is not accepted; {accepted} is")
    if math.isnan(value) or not allowed(float(value)):
        raise ValueError(f"{name}={value!r} is not accepted; {accepted} is")
    return float(value)


def checked_integer(name: str, value: Any) -> int | None:
    """None or a whole number of at least 1."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is not accepted; None or a whole number of at least 1 is") from None
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"{name}={value!r} is not accepted; None or a whole number of at least 1 is")
    return number


def label_index(labels: Labels) -> npt.NDArray[np.int64]:
    """Position of each row's class; labels of one column have one."""
    assert labels.index is not None, "labels of one column"
    return labels.index.astype(np.int64, copy=False)


def class_factors(class_weight: Any, labels: Labels, weights: Float64 | None) -> Float64 | None:
    """Factors of weights by class, None where there are none; "balanced" counts rows by their weights."""
    if class_weight is None:
        return None
    factors = compute_class_weight(class_weight, classes=labels.classes, y=labels.y, sample_weight=weights)
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise ValueError(f"class_weight={class_weight!r} is not accepted; finite weights of at least 0 are")
    counts = np.bincount(label_index(labels), weights, len(factors))
    if not (factors * counts).any():
        raise ValueError("sample_weight and class_weight together sum to zero: no row counts")
    return np.asarray(factors, dtype=np.float64)


class IterativeBase(CallbackSupportMixin, BaseEstimator):
    """An estimator with ``coef_`` of shape (k, m) or (m,) and ``intercept_``, fitted by `minimise`."""

    fit_intercept: Any
    solver: Any
    tol: Any
    max_iter: Any
    warm_start: Any
    verbose: Any
    coef_: Float64
    intercept_: Any
    n_iter_: Any
    n_products_: int
    n_features_in_: int

    def _checked_solver(self, also: tuple[str, ...] = ()) -> str:
        names = (*SOLVERS, *also)
        if self.solver not in names:
            raise ValueError(f"solver={self.solver!r} is not accepted; {', '.join(map(repr, names))} are")
        return str(self.solver)

    def _checked_stops(self) -> tuple[float | None, int | None]:
        """``tol`` and ``max_iter``."""
        tol = self.tol
        if tol is not None:
            tol = checked_number("tol", tol, "None or a number between 0 and 1", lambda one: 0.0 < one < 1.0)
        return tol, checked_integer("max_iter", self.max_iter)

    def _start(self, objective: Objective) -> Point | None:
        """The point of the last fit's coefficients, where they are asked for and fit this one."""
        if not self._is_start(objective):
            return None
        coef = np.atleast_2d(self.coef_)
        theta = np.zeros((objective.size, objective.k))
        theta[: objective.m] = coef.T
        if objective.fit_intercept:
            theta[objective.m] = self.intercept_
        return objective.evaluate(theta)

    def _is_start(self, objective: Objective) -> bool:
        if not (self.warm_start and hasattr(self, "coef_")):
            return False
        return bool(np.atleast_2d(self.coef_).shape == (objective.k, objective.m))

    def _attributes(self, theta: Float64) -> dict[str, Any]:
        """Fitted attributes of parameters on the way."""
        return dict(zip(("coef_", "intercept_"), self._split(theta), strict=True))

    def _split(self, theta: Float64) -> tuple[Float64, Float64]:
        """Coefficients (k, m) and intercepts (k,)."""
        if self.fit_intercept:
            return np.ascontiguousarray(theta[:-1].T), theta[-1].copy()
        return np.ascontiguousarray(theta.T), np.zeros(theta.shape[1])

    def _raw(self, X: Any) -> Float64:
        """``Z W^T + b``, (n, k)."""
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        coef = np.atleast_2d(self.coef_)
        return np.asarray(design.matvec(np.ascontiguousarray(coef.T)) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
