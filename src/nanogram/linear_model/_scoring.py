"""Scores of predictions that are at hand, by scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

__all__ = ["Scorer", "make_scorer"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class _Predictions(RegressorMixin, BaseEstimator):
    """A fitted regressor whose X are its predictions."""

    def predict(self, X: Any) -> Any:
        return X


class _Decisions(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose X are its decision values."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes
        self.classes_ = classes

    def decision_function(self, X: Any) -> Any:
        return X

    def predict(self, X: Any) -> Any:
        if X.ndim == 1:
            return self.classes_[(X > 0).astype(np.intp)]
        return self.classes_[np.argmax(X, axis=1)]


class _Many(_Decisions):
    """The same for multilabel targets."""

    def predict(self, X: Any) -> Any:
        return (X > 0).astype(np.int64)


#: A score, more is better, from true targets and raw predictions (n, t).
Scorer = Callable[[Array, Float64], float]


def make_scorer(scoring: Any, labels: Any = None) -> Scorer:
    """A scorer by name or as scikit-learn makes them; for classifiers with their labels."""
    found = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if not callable(found):
        raise ValueError(f"scoring={scoring!r} is not accepted; a scorer's name, a scorer or None is")
    if labels is None:
        stand_in: Any = _Predictions()
    else:
        stand_in = (_Many if labels.multilabel else _Decisions)(labels.classes)

    def score(y: Array, raw: Float64) -> float:
        return float(found(stand_in, raw[:, 0] if raw.shape[1] == 1 else raw, y))

    return score
