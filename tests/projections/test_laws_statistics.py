"""Kernels that laws approximate, and how much their estimates vary; seeds are fixed and error bars computed."""

from __future__ import annotations

import numpy as np
import pytest

import nanogram.projections as laws
from nanogram.projections import make_projection

RNG = np.random.default_rng(12)
P, M, SEEDS = 16, 64, 400
X = RNG.standard_normal((5, P)) * 0.9 / np.sqrt(P)
PAIRS = np.triu_indices(5, 1)
DISTANCES = X[:, None] - X[None]
RBF = np.exp(-(DISTANCES**2).sum(axis=2) / 2)[PAIRS]
LAPLACIAN = np.exp(-np.abs(DISTANCES).sum(axis=2))[PAIRS]
STANDARD_ERRORS = 5


def estimates(law, seeds=SEEDS, m=M):
    """Kernel estimates of all pairs, a row a seed."""
    found = []
    for seed in range(seeds):
        y = law.draw(P, m, seed).project(X)
        found.append((np.cos(y) @ np.cos(y).T + np.sin(y) @ np.sin(y).T)[PAIRS] / m)
    return np.array(found)


def assert_mean(sample, expected, tolerance=0.0):
    bars = STANDARD_ERRORS * sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    assert (np.abs(sample.mean(axis=0) - expected) <= bars + tolerance).all()


@pytest.mark.parametrize("name", ["gaussian", "circulant", "orthogonal", "qmc"])
def test_laws_with_gaussian_rows_are_unbiased_for_the_gaussian_kernel(name):
    assert_mean(estimates(make_projection(name)), RBF)


def fourth_order(kurtosis_term):
    """The difference to the Gaussian kernel at fourth order: ``E[(w.d)^4] - 3 |d|^4`` over 24, times the kernel."""
    return np.abs(kurtosis_term(DISTANCES)[PAIRS]) / 24 * RBF


@pytest.mark.filterwarnings("ignore::nanogram.projections.SparsityWarning")
@pytest.mark.parametrize(
    ("law", "excess"),
    [
        # Independent entries: excess kurtosis times sum d^4. On the sphere: -6 |d|^4 / (p + 2).
        (laws.StudentT(df=12), lambda d: 6 / 8 * (d**4).sum(axis=2)),
        (laws.Rademacher(), lambda d: 2 * (d**4).sum(axis=2)),
        (laws.Ternary(sparsity=0.5), lambda d: 1 * (d**4).sum(axis=2)),
        (laws.Directional(), lambda d: 6 / (P + 2) * (d**2).sum(axis=2) ** 2),
    ],
    ids=lambda value: repr(value) if isinstance(value, laws.Projection) else "",
)
def test_other_laws_are_off_by_their_fourth_moments(law, excess):
    # Twice the leading term bounds the whole at distances below sqrt 2.
    assert_mean(estimates(law), RBF, 2 * fourth_order(excess))


@pytest.mark.parametrize("law", [laws.Hadamard(2), laws.Hadamard(3), laws.Spherical()], ids=repr)
def test_structured_laws_are_near_the_gaussian_kernel(law):
    # Rows of bounded norm: no fourth moment is further from a Gaussian one than that of signs.
    worst = np.maximum(2 * (DISTANCES**4).sum(axis=2), 6 / (P + 2) * (DISTANCES**2).sum(axis=2) ** 2)
    assert_mean(estimates(law), RBF, 2 * fourth_order(lambda d: worst))


def test_cauchy_rows_give_the_laplacian_kernel():
    assert_mean(estimates(laws.Cauchy()), LAPLACIAN)


@pytest.mark.parametrize("law", [laws.Orthogonal(), laws.QMC(), laws.Hadamard(), laws.Spherical()], ids=repr)
def test_structure_lowers_the_variance(law):
    """The mean variance of the pairs, its error bar from the spread of squares over seeds."""

    def variance(sample):
        squares = ((sample - sample.mean(axis=0)) ** 2).mean(axis=1)
        return squares.mean(), squares.std(ddof=1) / np.sqrt(len(sample))

    gaussian, bar = variance(estimates(laws.Gaussian()))
    # Var of a mean over m independent rows of cos(w.d): (1 + k(2 d)) / 2 - k(d)^2 over m.
    exact = ((1 + RBF**4) / 2 - RBF**2).mean() / M
    assert abs(gaussian - exact) < STANDARD_ERRORS * bar
    found, bar = variance(estimates(law))
    assert found + STANDARD_ERRORS * bar < exact


def test_student_t_has_the_stated_kurtosis():
    W = laws.StudentT(df=12).draw(200, 2000, 3).materialize(dtype=np.float64)
    # t with 12 degrees of freedom has eighth moments: the error bar of the mean of w^4 is finite.
    fourth = W.ravel() ** 4
    assert abs(fourth.mean() - (3 + 6 / 8)) < STANDARD_ERRORS * fourth.std() / np.sqrt(fourth.size)


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.9])
def test_ternary_has_the_stated_sparsity(sparsity):
    weights = laws.Ternary(sparsity).draw(1000, 500, 3).weights_int8()
    zeros, n = (weights == 0).mean(), weights.size
    assert abs(zeros - sparsity) <= STANDARD_ERRORS * np.sqrt(sparsity * (1 - sparsity) / n)
    signs = weights[weights != 0].astype(float)
    assert abs(signs.mean()) < STANDARD_ERRORS / np.sqrt(signs.size)
