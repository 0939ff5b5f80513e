"""scikit-learn's checks of estimators, on `CodeSGDClassifier` and `CodeSGDRegressor`."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram.linear_model import CodeSGDClassifier, CodeSGDRegressor

WEIGHTS = "weights are not repetitions: the rows of a batch are drawn by number"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


# scikit-learn casts targets to see of what type they are, before anybody can look for infinities.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(
    [
        CodeSGDClassifier(),
        CodeSGDClassifier("squared_hinge", momentum=0.5, average=True),
        CodeSGDRegressor(),
        CodeSGDRegressor(solver="halp"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_estimator(estimator, check):
    check(estimator)
