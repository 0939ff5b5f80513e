"""The rule that picks an activation: on mixtures of each kind, on real digits, its parts, bad input."""

import numpy as np
import pytest

from nanogram import theory
from nanogram.activations import LeakyReLU, Quadratic, make_activation
from nanogram.datasets import available, fetch_eeg, fetch_mnist, make_gaussian_mixture, mixture_parameters
from nanogram.theory._clustering import Halves, clustering_agreement, mutual_information
from nanogram.theory.activation_profile import TABLE

QUICK = {"max_rows": 200, "n_splits": 3}


def mixture(kind, mean=6.0, spread=15.0, n=500, p=100, seed=0):
    means, covariances = mixture_parameters(p, kind, mean=mean, spread=spread)
    X, y, *_ = make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=seed)
    return X, y


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize(
    ("kind", "family", "dominant"), [("means", "mean", "means"), ("covariances", "covariance", "covariances")]
)
def test_family_of_pure_mixtures(kind, family, dominant, labelled):
    X, y = mixture(kind)
    profile = theory.activation_profile(X, y if labelled else None, **QUICK)
    assert profile.family == family
    assert profile.dominant == dominant
    assert profile.scores[profile.activation] > 0.9
    other = [profile.scores[name] for name in (("abs", "cos") if family == "mean" else ("identity", "erf"))]
    assert max(other) < profile.scores[profile.activation] - 0.3
    assert set(profile.scores) == set(TABLE) == set(profile.errors)


def test_recommended_slopes_share_the_moments():
    X, _ = mixture("covariances")
    profile = theory.activation_profile(X, **QUICK)
    d0, d1, d2 = profile.leaky_relu.moments(profile.tau)
    assert profile.moments == (d0, d1, d2)
    assert isinstance(profile.leaky_relu, LeakyReLU)
    assert isinstance(profile.quadratic, Quadratic)
    assert profile.ratio == pytest.approx(d1 / d2)
    np.testing.assert_allclose(profile.quadratic.moments(profile.tau)[1:], (d1, d2), rtol=1e-12)
    # The step code matches them too, level sizes included, as far as its design says.
    unit = profile.step_code.as_activation().moments(profile.tau)
    size = profile.tau * d1 + profile.tau**2 * d2
    assert abs(unit.d1 - d1) * profile.tau < 1e-6 * size
    assert abs(unit.d2 - d2) * profile.tau**2 < 1e-6 * size
    # Covariances alone: more weight on d2 than relu has.
    assert profile.ratio < make_activation("relu").moments(1.0).d1 / make_activation("relu").moments(1.0).d2


def test_means_ask_for_slopes_of_means():
    X, _ = mixture("means")
    profile = theory.activation_profile(X, **QUICK)
    assert profile.leaky_relu.a_minus < 0.5
    assert profile.ratio > 2


def test_noise_alone_is_neither():
    X = np.random.default_rng(0).standard_normal((500, 100))
    profile = theory.activation_profile(X, **QUICK)
    assert max(profile.scores.values()) < 0.3
    labels = np.arange(500) % 2
    with_labels = theory.activation_profile(X, labels, **QUICK)
    assert with_labels.dominant == "neither"
    assert max(with_labels.scores.values()) < 0.05


def test_norms_are_table_3_less_what_classes_share():
    X, y = mixture("means", p=100, mean=6.0)
    profile = theory.activation_profile(X, y, **QUICK)
    assert profile.norms == profile.statistics.norms()
    # |mu_1 - mu_2|^2 / 2 = 36; nothing in the covariances, where the printed |2 T| would be 4.
    assert profile.norms[0] == pytest.approx(36, rel=0.15)
    assert profile.norms[1] < 0.3
    assert theory.activation_profile(X, **QUICK).norms is None


def test_scale_and_place_of_rows_do_not_matter():
    X, y = mixture("means")
    first = theory.activation_profile(X, y, **QUICK)
    second = theory.activation_profile(100 * X + 3, y, **QUICK)
    assert first.activation == second.activation
    assert first.scores == pytest.approx(second.scores, abs=0.02)
    assert theory.activation_profile(X, y, **QUICK).scores == first.scores


def test_mutual_information_and_agreement():
    a = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    assert mutual_information(a, 1 - a) == pytest.approx(1)
    assert mutual_information(a, np.zeros(8, dtype=int)) == 0
    assert mutual_information(a, np.array([0, 1, 0, 1, 1, 0, 0, 1])) == pytest.approx(0, abs=1e-12)
    X, y = mixture("means", mean=12.0)
    halves = Halves.draw(X, y, 200, 0)
    found = clustering_agreement(halves, make_activation("identity"), 2)
    assert found.bits > 0.95
    assert 0.5 < found.prominence < 1
    blind = clustering_agreement(halves._replace(labels=None), make_activation("identity"), 2)
    assert blind.bits > 0.95


def test_four_classes():
    X, y = mixture("crossed", mean=10.0, spread=20.0, n=600)
    profile = theory.activation_profile(X, y, max_rows=400, n_splits=3)
    # Means and covariances both: no family sees all four (SPECTRUM Figures 5 and 6).
    assert profile.family == "balanced"
    assert profile.activation == "relu"


X, Y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2


@pytest.mark.parametrize(
    ("rows", "labels", "keywords", "message"),
    [
        (X, np.zeros(40), {}, "labels has one class"),
        (X, [0] * 39 + [1], {}, "class 1 has 1 row;"),
        (X + 1j, None, {}, "X is complex"),
        (np.where(X > 2, np.nan, X), None, {}, "NaN"),
        (np.ones((40, 3)), None, {}, "all rows of X are alike"),
        (X, None, {"n_clusters": 1}, "n_clusters=1"),
        (X, None, {"n_clusters": 6}, "n_clusters=6 must be an integer from 2 to 5"),
        (X, None, {"n_clusters": 2.5}, "n_clusters=2"),
        (X, None, {"n_splits": 1}, "n_splits=1"),
        (X, None, {"max_rows": 4}, "max_rows=4"),
        (X, None, {"activations": ()}, "activations is empty"),
        (X, None, {"tau": 0.0}, "tau=0"),
        (X, None, {"tau": np.nan}, "tau=nan"),
    ],
)
def test_bad_input(rows, labels, keywords, message):
    with pytest.raises(ValueError, match=message):
        theory.activation_profile(rows, labels, **keywords)


@pytest.mark.slow
@pytest.mark.skipif("mnist" not in available(), reason="mnist.npz is not here")
def test_digits_are_of_means():
    bunch = fetch_mnist(classes=[6, 8])
    profile = theory.activation_profile(bunch.X_train)
    assert profile.family == "mean"
    assert theory.gmm_statistics(bunch.X_train[:2000], bunch.y_train[:2000]).norms()[0] > 100


@pytest.mark.slow
@pytest.mark.skipif("eeg" not in available(), reason="eeg_bonn_raw.npz is not here")
def test_eeg_is_of_covariances():
    bunch = fetch_eeg(sets="BE")
    assert theory.activation_profile(bunch.X_train).family == "covariance"
