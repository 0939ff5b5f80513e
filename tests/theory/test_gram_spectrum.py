"""The limiting spectrum of Gram matrices: laws known in closed form, its equation, moments, integrals, measurement."""

import time

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from nanogram import kernels, theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters

RNG = np.random.default_rng(0)
POPULATIONS = {
    "identity": np.ones(60),
    "decaying": np.arange(1, 101) ** -1.5,
    "two bulks": np.r_[np.ones(50), np.full(50, 12.0)],
    "spikes": np.r_[np.linspace(0.8, 1.2, 97), 6.0, 9.0, 30.0],
    "deficient": np.r_[np.zeros(30), RNG.uniform(0.5, 2, 70)],
    "one": np.array([2.0]),
}
FEATURES = (7, 60, 70, 100, 2000)
CASES = [(name, m) for name in POPULATIONS for m in FEATURES]


def law_of(name, m):
    return theory.gram_spectrum(POPULATIONS[name], m)


@pytest.mark.parametrize(("n", "m"), [(100, 400), (300, 100), (50, 50)])
def test_identity_is_marchenko_pastur(n, m):
    law = theory.gram_spectrum(np.eye(n), m)
    ratio = n / m
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    np.testing.assert_allclose(law.edges, (low, high), rtol=1e-9, atol=1e-12)
    x = np.linspace(low, high, 23)[1:-1]
    np.testing.assert_allclose(law.density(x), np.sqrt((x - low) * (high - x)) / (2 * np.pi * ratio * x), rtol=1e-8)
    np.testing.assert_allclose(law.density([low - 0.01, -1.0, high + 0.01]), 0)
    assert law.mass_at_zero == pytest.approx(max(0, 1 - m / n))


@pytest.mark.parametrize(("name", "m"), CASES)
def test_density_integrates_to_one_and_to_the_moments(name, m):
    law, population = law_of(name, m), POPULATIONS[name]
    assert abs(law.integrate(np.ones_like) - 1) < 1e-6
    n, first, second = len(population), population.sum(), np.sum(population**2)
    moments = law.moments(4)
    np.testing.assert_allclose(moments[:2], [first / n, (second + first**2 / m) / n], rtol=1e-12)
    integrals = [law.integrate(lambda x, k=k: x**k) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(integrals, moments, rtol=1e-6)


def test_moments_are_those_of_wishart_matrices():
    """E tr G^k / n over complex Gaussian features: exact for k = 1, 2, an error of order 1/m^2 for 3 and 4."""
    population, m, n = POPULATIONS["decaying"], 40, 100
    found = []
    for seed in range(800):
        parts = np.random.default_rng(seed).standard_normal((2, n, m)) * np.sqrt(population / 2)[:, None]
        features = parts[0] + 1j * parts[1]
        small = features.conj().T @ features / m
        square = small @ small
        found.append([np.trace(small), np.trace(square), np.vdot(square, small), np.vdot(square, square)])
    found = np.array(found).real / n
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    expected = law_of("decaying", m).moments(4)
    assert (np.abs(found.mean(axis=0) - expected) < 4 * error + expected * [0, 0, 2 / m**2, 8 / m**2]).all()


@pytest.mark.parametrize(("name", "m"), CASES)
def test_transform_solves_its_equation_with_the_number_of_samples(name, m):
    """delta = (1/m) tr Phi (Phi/(1 + delta) - z)^-1 and (1/n) tr (Phi/(1 + delta) - z)^-1."""
    law, population = law_of(name, m), POPULATIONS[name]
    z = np.array([0.5 + 1j, 3 + 1e-3j, -2.0, -0.3 + 0.2j, 1.1 - 0.4j, 40 + 1e-8j, -1e-3])
    delta, transform = law.delta(z), law.stieltjes(z)
    resolvent = 1 / (population[:, None] / (1 + delta) - z)
    np.testing.assert_allclose(delta, (population[:, None] * resolvent).sum(axis=0) / m, rtol=1e-9)
    np.testing.assert_allclose(transform, resolvent.sum(axis=0) / len(population), rtol=1e-9)
    assert (transform.imag[z.imag > 0] > 0).all()
    np.testing.assert_allclose(law.stieltjes(z.conj()), transform.conj(), rtol=1e-12)


def test_equation_agrees_with_the_plain_iteration():
    population, m, z = POPULATIONS["two bulks"], 150, 2.0 + 0.5j
    delta = 0j
    for _ in range(5000):
        delta = (delta + np.sum(population / (population / (1 + delta) - z)) / m) / 2
    assert theory.gram_spectrum(population, m).delta(z) == pytest.approx(delta, rel=1e-10)


@pytest.mark.parametrize(("name", "m"), CASES)
def test_density_is_the_jump_of_the_transform_and_the_slope_of_the_cdf(name, m):
    law = law_of(name, m)
    for left, right in law.support:
        x = left + (right - left) * np.array([0.1, 0.37, 0.5, 0.81, 0.97])
        density = law.density(x)
        assert (density > 0).all()
        np.testing.assert_allclose(law.stieltjes(x, limit="above").imag / np.pi, density, rtol=1e-8)
        np.testing.assert_allclose(law.stieltjes(x, limit="below").imag / np.pi, -density, rtol=1e-8)
        h = 1e-4 * (right - left)
        np.testing.assert_allclose((law.cdf(x + h) - law.cdf(x - h)) / (2 * h), density, rtol=1e-3)


@pytest.mark.parametrize(("name", "m"), CASES)
def test_support_holds_the_right_number_of_eigenvalues(name, m):
    law = law_of(name, m)
    n = len(POPULATIONS[name])
    ends = law.cdf(law.support.ravel()).reshape(-1, 2)
    np.testing.assert_allclose(np.diff(ends, axis=1)[:, 0] * n, law.counts, atol=1e-6)
    assert law.counts.sum() + round(law.mass_at_zero * n) == n
    gaps = (law.support[:-1, 1] + law.support[1:, 0]) / 2
    np.testing.assert_array_equal(law.density(gaps), 0)
    np.testing.assert_allclose(law.cdf([-1.0, law.edges[1] + 1]), [0, 1], atol=1e-9)


@pytest.mark.parametrize("activation", ["relu", "cos_phase", "abs"])
def test_spectrum_of_measured_features(activation):
    """Distribution functions of measured and predicted eigenvalues, at n = 300, m = 450, within 1.5 points."""
    means, covariances = mixture_parameters(200, "both", mean=4, spread=4)
    X, *_ = make_gaussian_mixture(300, 200, means=means, covariances=covariances, random_state=0)
    law = theory.gram_spectrum(centred(kernels.of_activation(activation, X)), 450)
    features = draw(activation, X, 450, seed=1)
    values = np.sort(np.linalg.eigvalsh(centred(features @ features.T / 450)))
    middle = (np.arange(300) + 0.5) / 300
    assert np.abs(law.cdf(np.maximum(values, 0)) - middle).max() < 0.015


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def draw(activation, X, m, seed):
    rng = np.random.default_rng(seed)
    projected = X @ rng.standard_normal((X.shape[1], m))
    if activation == "cos_phase":
        return np.sqrt(2) * np.cos(projected + rng.uniform(0, 2 * np.pi, m))
    return {"relu": lambda t: np.maximum(t, 0), "abs": np.abs}[activation](projected)


def test_every_form_of_phi_gives_the_same_law():
    rng = np.random.default_rng(5)
    vectors = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    values = rng.uniform(0.1, 3, 40)
    Phi = (vectors * values) @ vectors.T
    laws = [theory.gram_spectrum(given, 64) for given in (values, Phi, aslinearoperator(Phi))]
    for law in laws[1:]:
        np.testing.assert_allclose(law.support, laws[0].support, rtol=1e-9)
    X, y, *_ = make_gaussian_mixture(60, 20, random_state=0)
    kernel = theory.equivalent_kernel(X, y, "relu", operator=True)
    np.testing.assert_allclose(
        theory.gram_spectrum(kernel, 64).support, theory.gram_spectrum(kernel.toarray(), 64).support, rtol=1e-8
    )


@pytest.mark.parametrize("n", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_ten_thousand_rows_take_seconds(n):
    """Eigenvalues once, then scalars: a density on 200 points."""
    population = np.sort(np.random.default_rng(1).pareto(2.5, n)) + 0.1
    start = time.perf_counter()
    law = theory.gram_spectrum(population, 2 * n)
    x = np.linspace(*law.bulk, 200)
    density = law.density(x)
    elapsed = time.perf_counter() - start
    assert elapsed < 60  # some seconds; a loaded machine is given its time
    assert np.isfinite(density).all()
    assert density.max() > 0
    ends = law.cdf(np.array(law.edges))
    assert ends[1] - ends[0] == pytest.approx(1, abs=1e-9)


# ---------------------------------------------------------------------- isolated eigenvalues


def test_spikes_and_alignment_against_gaussian_features():
    """n = 400, m = 800: the places and squared cosines of the spikes, within the spread of 40 draws."""
    population = np.r_[np.linspace(0.7, 1.3, 397), 2.8, 4.0, 8.0]
    law = theory.gram_spectrum(population, 800)
    isolated = law.isolated()
    assert isolated.population.tolist() == [8.0, 4.0, 2.8]
    assert isolated.separated.all()
    places, cosines = [], []
    for seed in range(40):
        features = np.random.default_rng(seed).standard_normal((400, 800)) * np.sqrt(population)[:, None]
        values, vectors = np.linalg.eigh(features @ features.T / 800)
        places.append(values[:-4:-1])
        cosines.append([vectors[-1 - k, -1 - k] ** 2 for k in range(3)])
    for found, expected, finite in ((places, isolated.eigenvalue, 0.01), (cosines, isolated.alignment, 0.01)):
        error = np.std(found, axis=0, ddof=1) / np.sqrt(40)
        assert (np.abs(np.mean(found, axis=0) - expected) < 4 * error + finite * expected).all()


def test_transition_of_the_white_law():
    """Phi = I and one spike: it shows above 1 + sqrt(n/m) at lambda + (n/m) lambda/(lambda - 1) (Baik et al. 2005)."""
    n, m = 400, 1600
    law = theory.gram_spectrum(np.ones(n), m)
    assert law.transition == pytest.approx(1.5)
    found = law.isolated([1.4, 1.6, 3.0])
    assert found.separated.tolist() == [True, True, False]
    np.testing.assert_allclose(found.eigenvalue[:2], [3 + 0.25 * 3 / 2, 1.6 + 0.25 * 1.6 / 0.6])
    ell = np.array([3.0, 1.6])
    cosine = (1 - 0.25 / (ell - 1) ** 2) / (1 + 0.25 / (ell - 1))
    np.testing.assert_allclose(found.alignment[:2], cosine)
    assert np.isnan(found.eigenvalue[2])
    assert found.alignment[2] == 0


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("Phi", "message"),
    [
        (np.array([1.0, -0.5]), "negative eigenvalue, -0.5"),
        (np.array([1.0, np.nan]), "finite"),
        (np.array([1.0 + 1j]), "complex"),
        (np.eye(3) + 1j, "complex"),
        (aslinearoperator(np.eye(3) * 1j), "complex"),
        (np.ones((3, 4)), r"shape \(3, 4\); it must be square"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (np.full((3, 3), np.nan), "NaN"),
        (np.zeros((3, 3)), "Phi is 0"),
        (np.ones(0), "one or more"),
    ],
)
def test_bad_kernels(Phi, message):
    with pytest.raises(ValueError, match=message):
        theory.gram_spectrum(Phi, 10)


@pytest.mark.parametrize("m", [0, -1, 2.5, True, np.nan, "many", 1j, None])
def test_bad_numbers_of_features(m):
    with pytest.raises(ValueError, match=r"n_features=.*positive integer"):
        theory.gram_spectrum(np.ones(3), m)


def test_points_where_quantities_do_not_exist():
    law = theory.gram_spectrum(np.ones(10), 5)
    with pytest.raises(ValueError, match=r"z = 0: the law has mass 0\.5 there"):
        law.stieltjes(0)
    for transform in (law.stieltjes, law.delta):
        with pytest.raises(ValueError, match=r"z=2 is on the support \[0\.171573, 5\.82843\]"):
            transform([-1.0, 2.0])
        with pytest.raises(ValueError, match="limit='left'"):
            transform(2.0, limit="left")
    with pytest.raises(ValueError, match="pole"):
        law.delta(0)
    for function in (law.density, law.cdf):
        with pytest.raises(ValueError, match="x is complex"):
            function(1j)
        with pytest.raises(ValueError, match="NaN"):
            function([1.0, np.nan])
    with pytest.raises(ValueError, match="z contains NaN"):
        law.stieltjes(np.nan)
    with pytest.raises(ValueError, match=r"spikes=\[-1.0\] must be positive"):
        law.isolated([-1.0])
    with pytest.raises(ValueError, match="order=0"):
        law.moments(0)
    # Without mass there, 0 is a point like others where no density reaches it.
    full = theory.gram_spectrum(np.ones(10), 40)
    assert full.stieltjes(0) == pytest.approx(1 / (1 - 0.25))
    assert full.delta(0) == pytest.approx(1 / 3)
