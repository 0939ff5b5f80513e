from __future__ import annotations

import numpy as np
import pytest

from nanogram import FeatureMap, kernels, theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.inspection import EigenvectorDisplay
from nanogram.theory.kernel_error import centred


def _mixture(n=120, p=150, kind="means", mean=6.0, seed=0):
    means, covariances = mixture_parameters(p, kind, mean=mean)
    return make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=seed)


def test_the_dots_are_the_eigenvector_class_by_class():
    X, y, *_ = _mixture()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    display = EigenvectorDisplay.from_rows(X, y, "relu", n_draws=5).plot(names=["left", "right"])
    K = centred(kernels.of_activation("relu", X - X.mean(axis=0)))
    vector = np.linalg.eigh(K)[1][:, -1]
    vector = vector if vector[y == 1].mean() >= vector[y == 0].mean() else -vector
    np.testing.assert_allclose(display.eigenvector, vector, atol=1e-9)
    for a in (0, 1):
        np.testing.assert_allclose(np.asarray(display.points_[a].get_offsets())[:, 1], vector[y == a], atol=1e-9)
    assert np.asarray(display.points_[1].get_offsets())[0, 0] == np.sum(y == 0)
    np.testing.assert_allclose(display.line_.get_ydata(), display.equivalent[np.argsort(y, kind="stable")])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][:1] == ["left"]


def test_the_prediction_is_that_of_other_draws_of_the_same_mixture():
    X, y, means, covariances = _mixture(n=160)
    known = theory.gmm_statistics(X, y, means=means, covariances=covariances)
    display = EigenvectorDisplay.from_rows(X, y, "relu", statistics=known, n_draws=60, random_state=3)
    entries = [[], []]
    for seed in range(40):
        other, labels, *_ = _mixture(n=160, seed=100 + seed)
        K = centred(kernels.of_activation("relu", other - other.mean(axis=0)))
        vector = np.linalg.eigh(K)[1][:, -1]
        vector = vector if vector[labels == 1].mean() > 0 else -vector
        for a in (0, 1):
            entries[a].append(vector[labels == a])
    for a in (0, 1):
        drawn = np.concatenate(entries[a])
        # Means of draws spread by their own class mean's spread; five standard errors of the difference.
        error = np.std([part.mean() for part in entries[a]], ddof=1) * np.sqrt(1 / 40 + 1 / 60)
        assert display.mean[a] == pytest.approx(drawn.mean(), abs=5 * error)
        assert display.std[a] == pytest.approx(drawn.std(), rel=0.06)
    # 160 entries, .68 expected of Gaussian ones: 4 standard errors.
    assert display.within == pytest.approx(0.683, abs=4 * np.sqrt(0.683 * 0.317 / 160) + 0.03)
    assert display.alignment > 0.98


def test_bands_are_mean_and_deviation():
    display = EigenvectorDisplay.from_predictions(
        [0.1, 0.2, -0.1, -0.3], ["a", "a", "b", "b"], [-0.15, 0.2], [0.06, 0.11]
    )
    display.plot()
    # The last class is turned upwards: the eigenvector changes sign, and the prediction is on its side.
    assert display.eigenvector.tolist() == [-0.1, -0.2, 0.1, 0.3]
    for band, low, high in zip(display.bands_, (-0.21, 0.09), (-0.09, 0.31), strict=True):
        ys = band.get_paths()[0].vertices[:, 1]
        assert (ys.min(), ys.max()) == pytest.approx((low, high))
    assert display.within == 1.0
    assert EigenvectorDisplay.from_predictions([1.0, 0.0], [0, 1], [0.5, -0.5], [0.1, 0.1]).mean.tolist() == [-0.5, 0.5]


def test_four_classes_and_another_component():
    X, y, *_ = _mixture(n=200, kind="crossed", mean=8.0)
    display = EigenvectorDisplay.from_rows(X, y, "relu", component=1, n_draws=4).plot()
    assert len(display.points_) == len(display.bands_) == 4
    assert display.component == 1
    assert "eigenvector 2" in display.ax_.get_title()


def test_from_estimator():
    X, y, *_ = _mixture()
    features = FeatureMap(activation="relu", n_components=4096, gamma=0.5, random_state=0).fit(X)
    display = EigenvectorDisplay.from_estimator(features, X, y).plot()
    G = centred(np.asarray(features.transform(X).kernel()))
    value, vector = (part[..., -1] for part in np.linalg.eigh(G))
    assert display.eigenvalue == pytest.approx(value)
    assert abs(display.eigenvector @ vector) == pytest.approx(1)

    class Clustering:
        eigenvectors_ = np.eye(120)[:, :2]
        eigenvalues_ = (3.0, 2.0)

    display = EigenvectorDisplay.from_estimator(Clustering(), None, y, component=1)
    assert display.eigenvalue == 2.0
    assert np.abs(display.eigenvector)[1] == 1
    with pytest.raises(ValueError, match="component=2"):
        EigenvectorDisplay.from_estimator(Clustering(), None, y, component=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"eigenvector": [1.0, np.inf]}, "infinity"),
        ({"eigenvector": [1.0]}, "labels has shape"),
        ({"mean": [0.0, 0.0]}, "go together"),
        ({"mean": [0.0], "std": [1.0, 1.0]}, "mean has shape"),
        ({"mean": [0.0, 0.0], "std": [-1.0, 1.0]}, "negative"),
        ({"equivalent": [1.0, 2.0, 3.0]}, "equivalent has shape"),
        ({"component": 2}, "component=2"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        EigenvectorDisplay(**({"eigenvector": [1.0, -1.0], "labels": [0, 1]} | arguments))


def test_bad_calls():
    X, y, *_ = _mixture()
    with pytest.raises(ValueError, match="n_draws=-1"):
        EigenvectorDisplay.from_rows(X, y, n_draws=-1)
    other = theory.gmm_statistics(X[:, :50], y, keep_covariances=True)
    with pytest.raises(ValueError, match="statistics are of"):
        EigenvectorDisplay.from_rows(X, y, statistics=other)
    with pytest.raises(ValueError, match="keep_covariances"):
        EigenvectorDisplay.from_rows(X, y, statistics=theory.gmm_statistics(X, y))
    display = EigenvectorDisplay.from_rows(X, y, n_draws=0)
    assert display.mean is None
    with pytest.raises(ValueError, match="no prediction"):
        _ = display.within
    with pytest.raises(ValueError, match="names has 1"):
        display.plot(names=["one"])
    with pytest.raises(ValueError, match="no equivalent"):
        _ = EigenvectorDisplay([1.0, 0.0], [0, 1]).alignment
