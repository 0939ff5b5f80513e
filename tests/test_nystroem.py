"""NystroemFeatures: exact where it should be, cut where rank is missing, quantised by column."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem

from nanogram import NystroemFeatures, kernels
from nanogram.codes import UniformCode


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((120, 6))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "arc_cosine", "relu", "erf"])
def test_all_rows_as_landmarks_give_the_kernel_itself(rows, kernel):
    Z = NystroemFeatures(len(rows), kernel, random_state=0).fit_transform(rows)
    exact = {
        "rbf": lambda: kernels.rbf(rows, gamma="scale"),
        "laplacian": lambda: kernels.laplacian(rows, gamma="scale"),
        "arc_cosine": lambda: kernels.arc_cosine(rows),
    }.get(kernel, lambda: kernels.of_activation(kernel, rows, gamma="scale"))()
    assert np.allclose(Z @ Z.T, exact, atol=2e-5 * np.abs(exact).max())


def test_landmarks_define_the_approximation(rows):
    features = NystroemFeatures(40, random_state=1)
    Z = features.fit_transform(rows)
    gamma = features.gamma_
    cross = kernels.rbf(rows, features.landmarks_, gamma=gamma)
    among = kernels.rbf(features.landmarks_, gamma=gamma)
    assert np.allclose(Z @ Z.T, cross @ np.linalg.solve(among, cross.T), atol=1e-5)


def test_it_is_as_good_as_scikit_learns(rows):
    exact = kernels.rbf(rows, gamma=0.1)
    ours, theirs = [], []
    for seed in range(6):
        Z = NystroemFeatures(30, gamma=0.1, random_state=seed).fit_transform(rows)
        ours.append(np.linalg.norm(Z @ Z.T - exact))
        S = Nystroem(gamma=0.1, n_components=30, random_state=seed).fit_transform(rows)
        theirs.append(np.linalg.norm(S @ S.T - exact))
    spread = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(6 - 1)
    assert np.mean(ours) < np.mean(theirs) + 4 * spread


def test_ensembles_average_their_groups(rows):
    features = NystroemFeatures(40, ensemble=4, random_state=1)
    Z = features.fit_transform(rows)
    mean = np.zeros((120, 120))
    for group in np.split(features.landmarks_, 4):
        cross = kernels.rbf(rows, group, gamma=features.gamma_)
        mean += cross @ np.linalg.solve(kernels.rbf(group, gamma=features.gamma_), cross.T) / 4
    assert np.allclose(Z @ Z.T, mean, atol=1e-5)


def test_missing_rank_is_cut(rows):
    repeated = np.vstack([rows[:10]] * 12)
    features = NystroemFeatures(60, random_state=0)
    Z = features.fit_transform(repeated)
    assert features.rank_ <= 10
    assert np.allclose(Z @ Z.T, kernels.rbf(repeated, gamma=features.gamma_), atol=1e-5)
    assert "rank" in features.report_.notes[0]


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_quantised_columns_have_ranges_of_their_own(rows, bits):
    floats = NystroemFeatures(30, random_state=1, output="array").fit_transform(rows)
    for rounding, within in (("nearest", 0.5), ("stochastic", 1.0)):
        features = NystroemFeatures(30, bits=bits, rounding=rounding, random_state=1, output="array")
        Z = features.fit_transform(rows)
        code = features.code_
        assert isinstance(code, UniformCode)
        assert code.n_columns == 30
        inside = (floats >= code.low) & (floats <= code.high)
        assert inside.mean() > 0.97
        assert (np.abs(Z - floats) <= (within * code.scale + 1e-6))[inside].all()


def test_far_rows_saturate_and_are_counted(rows):
    features = NystroemFeatures(30, kernel="arc_cosine", bits=8, random_state=1).fit(rows)
    with pytest.warns(UserWarning, match="saturate"):
        features.transform(rows * 30)
    assert features.report_.saturated_share > 0.1


def test_kmeans_landmarks_are_rows_spread_out():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(scale=0.01, size=(500, 2)), rng.normal(loc=50, scale=0.01, size=(3, 2))])
    features = NystroemFeatures(4, landmarks="kmeans++", gamma=1e-3, random_state=0)
    features.set_params(n_components=130).fit(rows)
    assert (np.abs(features.landmarks_[:, None] - rows[None]).sum(axis=2).min(axis=1) == 0).all()
    assert (features.landmarks_[:, 0] > 25).any()


def test_functions_are_kernels(rows):
    features = NystroemFeatures(120, kernel=_polynomial, random_state=0)
    Z = features.fit_transform(rows)
    assert np.allclose(Z @ Z.T, _polynomial(rows, rows), rtol=1e-4, atol=1e-3)
    again = pickle.loads(pickle.dumps(features)).transform(rows)
    assert np.array_equal(again.toarray(), Z.toarray())


def _polynomial(A, B):
    return (1 + A @ B.T) ** 2


def test_sparse_rows_keep_sparse_landmarks():
    X = sp.random_array((60, 300), density=0.05, rng=np.random.default_rng(0), format="csr")
    features = NystroemFeatures(60, random_state=0)
    Z = features.fit_transform(X)
    assert sp.issparse(features.landmarks_)
    assert np.allclose(Z @ Z.T, kernels.rbf(X, gamma="scale"), atol=1e-5)
    assert np.allclose(features.transform(X.toarray()).toarray(), Z.toarray(), atol=1e-6)


def test_more_landmarks_than_rows(rows):
    with pytest.warns(UserWarning, match="exceeds"):
        features = NystroemFeatures(200, random_state=0).fit(rows)
    assert features.transform(rows).shape == (120, 120)
    assert len(features.get_feature_names_out()) == 120
