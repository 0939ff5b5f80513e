from __future__ import annotations

import builtins

import numpy as np
import pytest

from nanogram import FeatureMap, TernaryFeatures, kernels, theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.inspection import SpectrumDisplay


def _mixture(n=200, p=100, mean=6.0, spread=4.0):
    means, covariances = mixture_parameters(p, "both", mean=mean, spread=spread)
    X, y, *_ = make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=0)
    return X, y


def _areas(bars):
    return np.array([bar.get_height() * bar.get_width() for bar in bars])


def test_histogram_holds_every_eigenvalue_and_the_density_all_but_the_mass_at_zero():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 150)) / np.sqrt(150)  # rank 150: half of the eigenvalues are zero
    law = theory.gram_spectrum(np.ones(300), 150)
    display = SpectrumDisplay.from_predictions(np.linalg.eigvalsh(Z @ Z.T), law).plot(bins=30)
    assert display.mass_at_zero == pytest.approx(0.5)
    assert np.trapezoid(display.density, display.x) == pytest.approx(0.5, abs=2e-3)
    # Zeros are said in words, not drawn: the bars hold the other half.
    assert _areas(display.bars_).sum() == pytest.approx(0.5)
    assert "0.5" in display.ax_.texts[0].get_text()
    x, y = display.line_.get_data()
    np.testing.assert_array_equal(x, display.x)
    np.testing.assert_array_equal(y, display.density)


def test_bars_follow_the_density():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((800, 1600)) / 40
    display = SpectrumDisplay.from_predictions(np.linalg.eigvalsh(Z @ Z.T), theory.gram_spectrum(np.ones(800), 1600))
    display.plot(bins=16)
    law = theory.gram_spectrum(np.ones(800), 1600)
    for bar in display.bars_:
        left, right = bar.get_x(), bar.get_x() + bar.get_width()
        expected = float(law.cdf(right) - law.cdf(left))
        # Eigenvalues repel each other: counts are within a few of 800 times the law's share.
        assert bar.get_height() * bar.get_width() == pytest.approx(expected, abs=4 / 800)


def test_a_spike_is_predicted_where_it_is_measured():
    rng = np.random.default_rng(2)
    population = np.ones(400)
    population[0] = 6.0
    Z = np.sqrt(population)[:, None] * rng.standard_normal((400, 800)) / np.sqrt(800)
    display = SpectrumDisplay.from_predictions(
        np.linalg.eigvalsh(Z @ Z.T), theory.gram_spectrum(population, 800)
    ).plot()
    # lambda (1 + c / (lambda - 1)), c = n/m = 1/2.
    assert display.spikes == pytest.approx([6 * (1 + 0.5 / 5)], rel=1e-2)
    assert len(display.isolated) == 1
    # Standard deviation of the largest eigenvalue: lambda sqrt(2/m) = 0.3.
    assert display.isolated[0] == pytest.approx(display.spikes[0], abs=1.0)
    assert display.spike_marks_.get_offsets()[:, 0] == pytest.approx(display.spikes)
    assert display.isolated_marks_.get_offsets()[:, 0] == pytest.approx(display.isolated)
    # The density is that of the bulk alone.
    assert display.x.max() < 4


@pytest.mark.parametrize("made", ["float", "ternary"])
def test_from_estimator_puts_the_bulk_of_a_map_where_theory_does(made):
    X, _ = _mixture(mean=0.0, spread=0.0)
    if made == "float":
        features = FeatureMap(activation="relu", n_components=400, gamma=0.5, random_state=0)
    else:
        features = TernaryFeatures(n_components=400, gamma=0.5, projection="gaussian", random_state=0)
    display = SpectrumDisplay.from_estimator(features.fit(X), X)
    inner = np.sort(display.eigenvalues)[1:-1]
    # Shares of eigenvalues below the quartiles of the law: 200 eigenvalues, which are rigid.
    mass = np.concatenate([[0.0], np.cumsum(np.diff(display.x) * (display.density[1:] + display.density[:-1]) / 2)])
    for quantile in (0.25, 0.5, 0.75):
        place = np.interp(quantile, mass + display.mass_at_zero, display.x)
        assert np.mean(inner < place) == pytest.approx(quantile, abs=0.03)


def test_from_estimator_takes_a_kernel_and_refuses_codes_without_one():
    X, _ = _mixture()
    features = FeatureMap(code=2, n_components=256, random_state=0).fit(X)
    with pytest.raises(ValueError, match="kernel="):
        SpectrumDisplay.from_estimator(features, X)
    display = SpectrumDisplay.from_estimator(features, X, kernel=kernels.rbf(X))
    assert display.eigenvalues.shape == (200,)
    with pytest.raises(ValueError, match=r"must be \(200, 200\)"):
        SpectrumDisplay.from_estimator(features, X, kernel=np.eye(3))
    pairs = FeatureMap(activation="cos_sin", n_components=256, random_state=0).fit(X)
    with pytest.raises(ValueError, match="columns a projection"):
        SpectrumDisplay.from_estimator(pairs, X)
    with pytest.raises(TypeError, match="transform"):
        SpectrumDisplay.from_estimator(object(), X)


def test_from_kernels_has_both_spectra():
    X, y = _mixture()
    K = kernels.of_activation("relu", X - X.mean(axis=0))
    equivalent = theory.equivalent_kernel(X, y, "relu", operator=True)
    display = SpectrumDisplay.from_kernels(K, equivalent).plot(bins=20)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    expected = np.linalg.eigvalsh(centred)[::-1]
    np.testing.assert_allclose(display.eigenvalues, np.delete(expected, np.argmin(np.abs(expected))))
    assert len(display.compared) == 199
    others = equivalent.eigenvalues()
    np.testing.assert_allclose(display.compared, np.delete(others, np.argmin(np.abs(others))))
    assert _areas(display.bars_).sum() == pytest.approx(1)
    assert _areas(display.compared_bars_).sum() == pytest.approx(1)


def test_bins_are_as_fine_as_the_bulk_whatever_the_spikes():
    """A spike far away, in either spectrum, does not widen the bins."""
    own, others = np.append(np.linspace(0, 1, 99), 9.0), np.append(np.linspace(0, 1, 99), 9.5)
    display = SpectrumDisplay(own, compared=others, isolated=own[-1:], spikes=others[-1:]).plot(bins=20, log=False)
    assert display.bars_[0].get_width() == pytest.approx(1 / 20)
    assert _areas(display.bars_).sum() == pytest.approx(1)
    assert _areas(display.compared_bars_).sum() == pytest.approx(1)


def test_logarithmic_bins_hold_everything():
    display = SpectrumDisplay(np.concatenate([np.linspace(1, 2, 50), [500.0]])).plot()
    assert display.ax_.get_xscale() == "log"
    assert _areas(display.bars_).sum() == pytest.approx(1)


def test_a_law_may_be_a_function():
    law = theory.gram_spectrum(np.ones(100), 400)
    values = np.linspace(*law.edges, 50)
    display = SpectrumDisplay.from_predictions(values, law.density, edges=law.edges, spikes=[3.0])
    assert display.spikes.tolist() == [3.0]
    assert np.trapezoid(display.density, display.x) == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="edges"):
        SpectrumDisplay.from_predictions(values, law.density)
    with pytest.raises(TypeError, match="law="):
        SpectrumDisplay.from_predictions(values, 3.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"eigenvalues": [1.0, np.nan]}, "eigenvalues"),
        ({"eigenvalues": [1j]}, "complex"),
        ({"eigenvalues": []}, "at least 1"),
        ({"eigenvalues": [1.0], "x": [1.0]}, "go together"),
        ({"eigenvalues": [1.0], "x": [1.0], "density": [1.0, 2.0]}, "alike"),
        ({"eigenvalues": [1.0], "mass_at_zero": 2.0}, "mass_at_zero"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        SpectrumDisplay(**arguments)


def test_bad_kernels():
    with pytest.raises(ValueError, match="not symmetric"):
        SpectrumDisplay.from_kernels([[0.0, 1.0], [0.0, 0.0]], np.eye(2))
    with pytest.raises(ValueError, match="complex"):
        SpectrumDisplay.from_kernels(np.eye(2) * 1j, np.eye(2))
    with pytest.raises(ValueError, match="bins=0"):
        SpectrumDisplay([1.0, 2.0]).plot(bins=0)


def test_says_what_to_install_without_matplotlib(monkeypatch):
    display = SpectrumDisplay([1.0, 2.0])
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        display.plot()


def test_importing_the_displays_does_not_import_matplotlib():
    import subprocess
    import sys

    program = "import sys, nanogram.inspection; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=120).returncode == 0


def test_draws_on_the_axes_given():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = SpectrumDisplay([1.0, 2.0, 3.0])
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
