"""Statistics of mixtures: unbiased traces, known models, what classes share, bad input."""

import numpy as np
import pytest

from nanogram import theory
from nanogram.datasets import make_gaussian_mixture, mixture_parameters


def within(samples, expected, errors=4.5):
    """Mean of independent samples (along the first axis) within so many standard errors of what is expected."""
    samples = np.asarray(samples)
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    np.testing.assert_array_less(np.abs(samples.mean(axis=0) - expected), errors * error + 1e-12)


@pytest.mark.parametrize("law", ["gaussian", "exponential", "rademacher"])
@pytest.mark.parametrize("shape", [(6, 20), (30, 8)])
def test_trace_of_square_has_no_bias_for_any_law(law, shape):
    scale = np.linspace(0.5, 2, shape[1])
    draws = {
        "gaussian": lambda rng: rng.standard_normal(shape),
        "exponential": lambda rng: rng.exponential(size=shape) - 1,
        "rademacher": lambda rng: rng.choice([-1.0, 1.0], size=shape),
    }
    found = [theory.trace_of_square(3 + scale * draws[law](np.random.default_rng([s, 1]))) for s in range(1500)]
    within(found, np.sum(scale**4))
    # The plain estimate is far off at these shapes, so that the test would see it.
    plain = np.sum(np.cov((scale * draws[law](np.random.default_rng(0))).T) ** 2)
    assert plain > 1.15 * np.sum(scale**4) or shape[0] > 20


def test_trace_of_square_is_the_mean_over_four_different_rows():
    """Its definition, by brute force."""
    Z = np.random.default_rng(3).standard_normal((6, 3)) + 1
    total, count = 0.0, 0
    for i in range(6):
        for j in range(6):
            for k in range(6):
                for m in range(6):
                    if len({i, j, k, m}) == 4:
                        total += ((Z[i] - Z[k]) @ (Z[j] - Z[m])) * ((Z[i] - Z[k]) @ (Z[j] - Z[m])) / 4
                        count += 1
    # ((z_i - z_k)(z_j - z_m))^2 / 4 has the mean tr S^2: both differences have covariance 2 S.
    assert theory.trace_of_square(Z) == pytest.approx(total / count, rel=1e-12)


def test_estimates_have_no_bias():
    p, n = 40, 90
    means, covariances = mixture_parameters(p, "both", mean=3.0, spread=4.0)
    known, found = None, []
    for seed in range(300):
        X, y, *_ = make_gaussian_mixture(n, p, means=means, covariances=covariances, random_state=seed)
        s = theory.gmm_statistics(X, y)
        found.append([*s.M[:3].ravel(), *s.t, *s.T.ravel(), s.tau, s.phi[:30].mean(), s.phi[60:].mean()])
        known = theory.gmm_statistics(X, y, means=means, covariances=covariances)
    expected = [*known.M[:3].ravel(), *known.t, *known.T.ravel(), known.tau, 0, 0]
    within(found, expected)


def test_known_means_lose_no_degree_of_freedom():
    p = 30
    means, covariances = mixture_parameters(p, "covariances", spread=3.0)
    found = []
    for seed in range(400):
        X, y, *_ = make_gaussian_mixture(12, p, means=means, covariances=covariances, random_state=seed)
        s = theory.gmm_statistics(X, y, means=means)
        found.append([*s.t, *s.T.ravel(), s.tau])
    known = theory.gmm_statistics(X, y, means=means, covariances=covariances)
    within(found, [*known.t, *known.T.ravel(), known.tau])


def test_known_models_of_every_form_agree():
    """A number, a diagonal and a matrix."""
    p = 5
    X, y = np.random.default_rng(0).standard_normal((8, p)), np.arange(8) % 2
    forms = [(2.0, np.full(p, 3.0)), (np.full(p, 2.0), 3.0 * np.eye(p)), (2.0 * np.eye(p), 3.0 * np.eye(p))]
    for covariances in forms:
        s = theory.gmm_statistics(X, y, means=np.zeros((2, p)), covariances=covariances)
        np.testing.assert_allclose(s.T, [[4, 6], [6, 9]])
        np.testing.assert_allclose(s.t, np.sqrt(p) * np.array([-0.5, 0.5]))
        assert s.tau == 2.5
        np.testing.assert_allclose(s.phi, np.sum(X**2, axis=1) - np.where(y == 0, 2.0, 3.0))
        np.testing.assert_allclose(
            np.broadcast_to(s.mean_covariance, (p,)) if s.mean_covariance.ndim < 2 else np.diag(s.mean_covariance), 2.5
        )


def test_information_takes_out_what_classes_share():
    """SPEC 6: C1 = C2 = I gives |2T| = 4 with nothing in it; a common mean is no information either."""
    p = 64
    X, y = np.random.default_rng(0).standard_normal((40, p)) / 8, np.arange(40) % 2
    alike = theory.gmm_statistics(X, y, means=np.ones((2, p)), covariances=[1.0, 1.0])
    assert np.linalg.norm(2 * alike.T, 2) == pytest.approx(4)
    assert alike.norms() == pytest.approx((0, 0), abs=1e-12)
    # Unequal classes: tr(C_a^o C_b^o)/p with C^o weighted by the shares 1/4 and 3/4.
    y = (np.arange(40) >= 10).astype(int)
    mu = np.zeros((2, p))
    mu[0, 0] = 4
    s = theory.gmm_statistics(X, y, means=mu, covariances=[1.0, 3.0])
    apart = np.array([1.0, 3.0]) - 2.5
    t = np.sqrt(p) * apart
    np.testing.assert_allclose(s.covariance_information, np.outer(t, t) + 2 * np.outer(apart, apart))
    centred = mu - np.array([0.25, 0.75]) @ mu
    np.testing.assert_allclose(s.mean_information, centred @ centred.T)


def test_norms_at_unit_scale_do_not_depend_on_the_scale_of_rows():
    """The two grow as c^2 and c^4."""
    means, covariances = mixture_parameters(50, "both", mean=4, spread=4)
    X, y, *_ = make_gaussian_mixture(80, 50, means=means, covariances=covariances, random_state=1)
    once, thrice = theory.gmm_statistics(X, y), theory.gmm_statistics(3 * X, y)
    np.testing.assert_allclose(once.norms(), thrice.norms(), rtol=1e-10)
    np.testing.assert_allclose(np.array(thrice.norms("data")) / once.norms("data"), [9, 81], rtol=1e-10)


def test_shrinkage_where_rows_are_fewer_than_columns():
    p = 60
    means, covariances = mixture_parameters(p, "covariances", spread=5.0)
    X, y, *_ = make_gaussian_mixture(
        110, p, means=means, covariances=covariances, proportions=[4 / 11, 7 / 11], random_state=0
    )
    s = theory.gmm_statistics(X, y, keep_covariances=True)
    assert s.shrinkage[0] > 0.5  # 40 rows
    assert s.shrinkage[1] == 0  # 70 rows
    plain = theory.gmm_statistics(X, y, keep_covariances=True, shrinkage="none")
    for a in (0, 1):
        expected = p * np.cov(X[y == a].T)
        np.testing.assert_allclose(plain.covariances[a], expected, rtol=1e-10, atol=1e-12)
        assert np.trace(s.covariances[a]) == pytest.approx(np.trace(expected), rel=1e-10)
    assert np.linalg.eigvalsh(plain.covariances[0])[0] < 1e-10 < 0.3 < np.linalg.eigvalsh(s.covariances[0])[0]
    truth = np.eye(p)
    assert np.linalg.norm(s.covariances[0] - truth) < 0.3 * np.linalg.norm(plain.covariances[0] - truth)
    always = theory.gmm_statistics(X, y, keep_covariances=True, shrinkage="ledoit-wolf")
    assert always.shrinkage.min() > 0
    # Traces do not change with it.
    np.testing.assert_array_equal(always.T, plain.T)


def test_labels_may_be_anything_sortable_and_one_class_is_a_mixture():
    X = np.random.default_rng(0).standard_normal((20, 4))
    names = np.array(["b", "a"] * 10)
    s = theory.gmm_statistics(X, names)
    assert s.classes.tolist() == ["a", "b"]
    np.testing.assert_allclose(s.M[:, 0], 2 * X[names == "a"].mean(axis=0))
    one = theory.gmm_statistics(X)
    assert one.counts.tolist() == [20]
    assert one.t.tolist() == [0.0]
    assert one.tau == pytest.approx(np.trace(np.cov(X.T)))


X, Y = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12) % 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, [0] * 11 + [1]), "class 1 has 1 row;"),
        ((X, [0] * 9 + [1] * 3), "class 1 has 3 rows"),
        ((X + 1j, Y), "X is complex"),
        ((np.where(np.arange(36).reshape(12, 3) == 7, np.nan, X), Y), "NaN"),
        ((np.where(np.arange(36).reshape(12, 3) == 7, np.inf, X), Y), "inf"),
        ((X, Y[:-1]), r"labels has shape \(11,\)"),
        ((X, np.where(Y, np.nan, 0.0)), "labels contains NaN"),
        ((X, Y + 1j), "labels is complex"),
        ((np.ones((12, 3)), Y), "tau"),
    ],
)
def test_bad_rows_and_labels(arguments, message):
    with pytest.raises(ValueError, match=message):
        theory.gmm_statistics(*arguments)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"means": np.zeros((3, 3))}, r"means has shape \(3, 3\), must be finite and \(2, 3\)"),
        ({"covariances": [1.0]}, "covariances has 1 entries for 2 classes"),
        ({"covariances": [1.0, np.ones(4)]}, r"covariances\[1\] has shape \(4,\)"),
        ({"covariances": [1.0, np.triu(np.ones((3, 3)))]}, "not symmetric"),
        ({"covariances": [1.0, -1.0]}, "negative variance"),
        ({"covariances": [1.0, np.array([[1, 2, 0], [2, 1, 0], [0, 0, 1.0]])]}, "negative eigenvalue"),
        ({"covariances": [1.0, 1j]}, "complex"),
        ({"shrinkage": "yes"}, "shrinkage='yes'"),
    ],
)
def test_bad_models(keywords, message):
    with pytest.raises(ValueError, match=message):
        theory.gmm_statistics(X, Y, **keywords)


def test_singular_covariances_are_a_model_like_others():
    """Rows in a subspace, and given covariances without full rank."""
    flat = np.random.default_rng(0).standard_normal((30, 2)) @ np.random.default_rng(1).standard_normal((2, 9))
    s = theory.gmm_statistics(flat, np.arange(30) % 2, keep_covariances=True)
    assert np.isfinite(s.T).all()
    assert (np.diag(s.T) > 0).all()
    singular = np.diag([1.0, 1.0, 0.0])
    known = theory.gmm_statistics(X, Y, means=np.zeros((2, 3)), covariances=[singular, 1.0])
    np.testing.assert_allclose(known.T, [[2 / 3, 2 / 3], [2 / 3, 1]])


def test_statistics_without_covariances_say_so():
    with pytest.raises(ValueError, match="keep_covariances=True"):
        _ = theory.gmm_statistics(X, Y).mean_covariance
    with pytest.raises(ValueError, match="scale='one'"):
        theory.gmm_statistics(X, Y).norms("one")
