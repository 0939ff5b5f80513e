"""Targets and penalties of ridge regressions, checked."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y, check_consistent_length

__all__ = ["Labels", "checked_alpha", "checked_alphas", "checked_targets", "class_weights"]

Float64 = npt.NDArray[np.float64]


def _refuse_none(estimator: Any, y: Any) -> None:
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )


def checked_targets(estimator: Any, y: Any, n_rows: int) -> tuple[Float64, bool]:
    """Numbers as (n, t) in double, and whether they were given as a vector."""
    _refuse_none(estimator, y)
    y = _check_y(y, multi_output=True, y_numeric=True, estimator=estimator)
    check_consistent_length(np.empty((n_rows, 0)), y)
    y = np.asarray(y.todense() if hasattr(y, "todense") else y, dtype=np.float64)
    return (y[:, None], True) if y.ndim == 1 else (y, False)


def checked_alpha(alpha: Any, n_targets: int) -> Float64:
    """One alpha of at least 0 a target."""
    if isinstance(alpha, bool | np.bool_ | str):
        raise TypeError(f"alpha={alpha!r} is not accepted; a number of at least 0, or one a target, is")
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"alpha={alpha!r} is not accepted; a number of at least 0, or one a target, is") from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) not in (1, n_targets)):
        raise ValueError(f"alpha has shape {values.shape}; a number or one a target, {n_targets}, is accepted")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"alpha={alpha!r} is not accepted; finite numbers of at least 0 are")
    return np.broadcast_to(values.ravel() if values.ndim else values, (n_targets,)).copy()


def checked_alphas(alphas: Any) -> Float64:
    """A path: positive numbers in the order given."""
    if isinstance(alphas, numbers.Real) and not isinstance(alphas, bool):
        alphas = [alphas]
    try:
        values = np.asarray(alphas, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"alphas={alphas!r} is not accepted; positive numbers or 'auto' are") from None
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"alphas has shape {values.shape}; at least one number in one dimension is accepted")
    if not (np.isfinite(values) & (values > 0)).all():
        bad = float(values[~(np.isfinite(values) & (values > 0))][0])
        raise ValueError(f"alphas holds {bad}; finite numbers above 0 are accepted")
    return values


class Labels:
    """Classes as targets of -1 and 1, as scikit-learn's RidgeClassifier has them.

    Attributes
    ----------
    classes : ndarray
        In order; for multilabel targets 0 to t - 1.
    targets : array of shape (n, t)
        One column for two classes, else one a class.
    index : array of shape (n,) or None
        Position of each row's class; None for multilabel targets.

    Raises
    ------
    ValueError
        For one class alone, or (``multilabel=False``) for multilabel targets.
    """

    def __init__(self, estimator: Any, y: Any, n_rows: int, *, multilabel: bool = True) -> None:
        _refuse_none(estimator, y)
        values = np.asarray(y) if isinstance(y, list | tuple) else y
        # Else the check casts them to integers, with a warning of NumPy's own.
        if getattr(getattr(values, "dtype", None), "kind", "") == "f":
            assert_all_finite(values, input_name="y")
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        self.multilabel = kind.startswith("multilabel")
        if self.multilabel and not multilabel:
            raise ValueError(f"y is a {kind}; {type(estimator).__name__} accepts one column of labels")
        if self.multilabel:
            y = _check_y(y, multi_output=True, estimator=estimator)
            y = np.asarray(y.todense() if hasattr(y, "todense") else y)
            self.classes: npt.NDArray[Any] = np.arange(y.shape[1])
            self.index = None
            self.targets = np.where(y > 0, 1.0, -1.0)
        else:
            if kind == "multiclass-multioutput":
                raise ValueError("y holds several multiclass targets; one column of labels or a 0/1 matrix is accepted")
            y = _check_y(y, estimator=estimator)
            self.classes, self.index = np.unique(y, return_inverse=True)
            if len(self.classes) < 2:
                raise ValueError(
                    f"{type(estimator).__name__} needs rows of at least two classes; y holds one class, "
                    f"{self.classes[0]!r}, alone"
                )
            if len(self.classes) > 2:
                self.targets = np.where(self.index[:, None] == np.arange(len(self.classes)), 1.0, -1.0)
            else:
                self.targets = np.where(self.index == 1, 1.0, -1.0)[:, None]
        check_consistent_length(np.empty((n_rows, 0)), y)
        self.y = y


def class_weights(class_weight: Any, labels: Labels, sample_weight: Float64 | None) -> Float64 | None:
    """Weights of rows with those of their classes."""
    if class_weight is None:
        return sample_weight
    factors = np.asarray(compute_sample_weight(class_weight, labels.y), dtype=np.float64)
    if (factors < 0).any() or not np.isfinite(factors).all():
        raise ValueError(f"class_weight={class_weight!r} is not accepted; finite weights of at least 0 are")
    weights = factors if sample_weight is None else factors * sample_weight
    if not weights.any():
        raise ValueError("sample_weight and class_weight together sum to zero: no row counts")
    return weights
