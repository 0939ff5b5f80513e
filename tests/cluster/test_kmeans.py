"""`CodeKMeans` against scikit-learn's k-means on the decoded matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nanogram import FourierFeatures, TernaryFeatures
from nanogram.cluster import CodeKMeans
from nanogram.streamed import StreamedCodes

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(scale=2.0, size=(8, 4))
TRUE = RNG.integers(8, size=3000)
X = CENTRES[TRUE] + 0.4 * RNG.normal(size=(3000, 4))
FEATURES = TernaryFeatures(256, random_state=0).fit(X)
Z = FEATURES.transform(X)
A = Z.toarray(dtype=np.float64)

WEIGHTS = "weights are not repetitions: mini-batches are drawn by number"


@pytest.mark.filterwarnings("ignore:.*distinct clusters were found")  # some checks have four distinct rows
@parametrize_with_checks(
    [CodeKMeans(random_state=0), CodeKMeans(2, init="random", batch_size=10)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    },
)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("batch_size", [100, 1024])
@pytest.mark.parametrize("k", [3, 8, 20])
def test_inertia_is_within_two_percent_of_full_kmeans(k, batch_size):
    reference = KMeans(k, n_init=5, random_state=0).fit(A).inertia_
    ours = [CodeKMeans(k, batch_size=batch_size, n_init=3, random_state=s).fit(Z).inertia_ for s in range(3)]
    assert min(ours) < 1.02 * reference
    assert max(ours) < 1.25 * reference  # one start may end in another optimum


def test_clusters_attributes_and_distances_are_those_of_the_centres():
    model = CodeKMeans(8, random_state=0).fit(Z)
    assert adjusted_rand_score(TRUE, model.labels_) > 0.85
    distances = np.linalg.norm(A[:, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(Z), distances, atol=2e-3)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_, model.predict(Z))
    np.testing.assert_allclose(model.inertia_, (distances.min(axis=1) ** 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(model.score(Z), -model.inertia_, rtol=1e-12)
    # Polished to the end: each centre is the mean of its rows.
    means = np.array([A[model.labels_ == j].mean(axis=0) for j in range(8)])
    np.testing.assert_allclose(CodeKMeans(8, n_polish=200, random_state=0).fit(Z).cluster_centers_.sum(), means.sum(),
                               rtol=1e-2)  # fmt: skip


def test_polish_ends_at_a_fixed_point_of_lloyd():
    model = CodeKMeans(8, n_polish=300, random_state=0).fit(Z)
    means = np.array([A[model.labels_ == j].mean(axis=0) for j in range(8)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-5)


def test_same_seed_same_result_another_seed_another():
    first, again, other = (CodeKMeans(5, n_polish=0, random_state=s).fit(Z) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)
    assert not np.array_equal(first.cluster_centers_, other.cluster_centers_)


def test_dense_sparse_and_streamed_rows_agree_with_codes():
    init = A[:8]
    expected = CodeKMeans(8, init=init, random_state=0).fit(Z)
    for other in (A, sp.csr_array(A), StreamedCodes(FEATURES, X)):
        found = CodeKMeans(8, init=init, random_state=0).fit(other)
        assert abs(found.inertia_ / expected.inertia_ - 1) < 0.05  # another order of batches
        np.testing.assert_array_equal(found.predict(Z), found.predict(A))


def test_weights_of_zero_take_rows_out():
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    assert weights[TRUE == 0].any()
    weights[TRUE == 0] = 0.0
    model = CodeKMeans(7, n_init=5, random_state=0).fit(Z, sample_weight=weights)
    centre = A[TRUE == 0].mean(axis=0)
    assert (np.linalg.norm(model.cluster_centers_ - centre, axis=1) > 0.5).all()
    distances = np.linalg.norm(A[:, None] - model.cluster_centers_, axis=2).min(axis=1) ** 2
    np.testing.assert_allclose(model.inertia_, weights @ distances, rtol=1e-5)
    np.testing.assert_allclose(model.score(Z, sample_weight=weights), -model.inertia_, rtol=1e-9)


def test_partial_fit_goes_on():
    model = CodeKMeans(8, random_state=0)
    for start in range(0, 3000, 500):
        model.partial_fit(Z[start : start + 500])
    assert model.n_steps_ == 6
    reference = KMeans(8, n_init=5, random_state=0).fit(A).inertia_
    assert -model.score(Z) < 1.3 * reference
    np.testing.assert_allclose(model._counts.sum(), 3000)


def test_centres_without_rows_are_placed_anew():
    far = np.full((2, 256), 50.0)
    init = np.vstack([A[:6], far])
    model = CodeKMeans(8, init=init, random_state=0).fit(Z)
    assert len(np.unique(model.labels_)) == 8
    kept = CodeKMeans(8, init=init, reassignment_ratio=0.0, n_polish=0, random_state=0).fit
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        kept(Z)


def test_repeated_rows_give_fewer_clusters_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters"):
        model = CodeKMeans(4, random_state=0).fit(Z[np.repeat([0, 1], 30)])
    np.testing.assert_allclose(model.inertia_, 0.0, atol=1e-3)


def test_more_tries_of_random_starts_are_no_worse():
    def mean(n_init):
        runs = [CodeKMeans(8, init="random", n_init=n_init, n_polish=0, random_state=s).fit(Z) for s in range(8)]
        return np.mean([run.inertia_ for run in runs])

    assert mean(8) < mean(1)


def test_in_a_grid_with_codes_between_the_steps():
    pipeline = make_pipeline(FourierFeatures(128, bits=2, random_state=0), CodeKMeans(random_state=0))
    grid = GridSearchCV(pipeline, {"codekmeans__n_clusters": [2, 8]}, cv=3).fit(X)
    assert grid.best_params_["codekmeans__n_clusters"] == 8


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 3001}, "n_clusters=3001"),
        ({"init": "best"}, "init='best'"),
        ({"init": A[:3]}, "init has shape"),
        ({"init": np.full((8, 256), np.nan)}, "init holds NaN"),
        ({"n_init": 0}, "n_init=0"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_no_improvement": 0}, "max_no_improvement=0"),
        ({"n_polish": -1}, "n_polish=-1"),
        ({"init_size": 0}, "init_size=0"),
        ({"reassignment_ratio": 1.0}, "reassignment_ratio=1.0"),
    ],
)
def test_bad_parameters_are_named(parameters, match):
    with pytest.raises(ValueError, match=match):
        CodeKMeans(**parameters).fit(Z)


def test_weights_that_sum_to_zero_are_refused():
    with pytest.raises(ValueError, match="sums to zero"):
        CodeKMeans(2).fit(Z, sample_weight=np.zeros(len(X)))
