"""Rows as an estimator takes them: names and number of columns checked, nothing copied."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from nanogram.rows import RowSource, as_row_source

__all__ = ["no_rows", "read_rows"]


def read_rows(estimator: Any, X: Any, *, reset: bool) -> RowSource:
    """The rows of X; at fit (``reset``) their columns are noted on the estimator, later compared with those noted.

    Fitting reads the rows more than once, transforming once.
    """
    source = as_row_source(X, single_pass=not reset)
    if source.n_rows == 0:
        raise no_rows(source.n_columns)
    if source is X or not hasattr(X, "shape"):
        _columns_of_source(estimator, source, reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    return source


def no_rows(n_columns: int) -> ValueError:
    """The error for rows that are none, in the words scikit-learn's own checks look for."""
    return ValueError(f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required.")


def _columns_of_source(estimator: Any, source: RowSource, reset: bool) -> None:
    """The same for streams and lists, which are no tables to scikit-learn."""
    names = source.feature_names
    if reset:
        estimator.n_features_in_ = source.n_columns
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    expected = getattr(estimator, "feature_names_in_", None)
    if names is not None and expected is not None and list(names) != list(expected):
        raise ValueError(f"The feature names should match those that were passed during fit: {list(expected)[:8]}")
    if source.n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {source.n_columns} features, but {type(estimator).__name__} "
            f"is expecting {estimator.n_features_in_} features as input"
        )
