"""Laws against their definitions, and what they hold in memory."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import linalg, stats

import nanogram.projections as laws
from nanogram.projections import Stream, make_projection
from nanogram.projections._blocks import WORKSPACE


def test_circulant_blocks_are_circulant_matrices_times_signs():
    W = laws.Circulant().draw(7, 17, 3).materialize(dtype=np.float64)
    stream = Stream(3, "projection.circulant")
    whole = np.concatenate(
        [
            linalg.circulant(stream.normal([b], 7, dtype=np.float64)[0]) * stream.sign([b], 7, draw=1)[0]
            for b in range(3)
        ]
    )
    np.testing.assert_array_equal(W, whole[:17])


@pytest.mark.parametrize("p", [1, 2, 5, 8, 33, 100])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_hadamard_blocks_are_products_of_hadamard_matrices_and_signs(p, rounds):
    drawn = laws.Hadamard(rounds).draw(p, 2 * p + 3, 11)
    size = drawn.block_size
    assert p <= size < 2 * p
    H = linalg.hadamard(size).astype(float)
    packed = drawn.hadamard_signs()
    assert packed.shape == (drawn.n_blocks, rounds, -(-size // 32))
    assert packed.dtype == np.uint32
    blocks = []
    for b in range(drawn.n_blocks):
        block = np.eye(size)
        for r in range(rounds):
            bits = [int(packed[b, r, k // 32]) >> (k % 32) & 1 for k in range(size)]
            block = H @ (block * (1 - 2 * np.array(bits))[:, None])
        blocks.append(block / size ** ((rounds - 1) / 2))
    expected = np.concatenate(blocks)[: drawn.n_components, :p]
    np.testing.assert_allclose(drawn.materialize(dtype=np.float64), expected, rtol=1e-14, atol=1e-14)
    if rounds == 1:
        np.testing.assert_array_equal(drawn.weights_int8(), expected)


@pytest.mark.parametrize("size", [1, 2, 16, 32, 64, 1024, 2048])
def test_fast_transform_is_the_hadamard_matrix(size):
    from nanogram.projections.hadamard import fast_hadamard

    x = np.random.default_rng(0).integers(-9, 10, (3, size)).astype(np.float32)
    np.testing.assert_array_equal(fast_hadamard(x), x @ linalg.hadamard(size))


def test_orthogonal_blocks_are_orthogonal_with_gaussian_norms():
    p = 12
    W = laws.Orthogonal().draw(p, 200 * p + 5, 3).materialize(dtype=np.float64)
    for block in (W[:p], W[p : 2 * p], W[200 * p :]):
        gram = block @ block.T
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    assert stats.kstest((W**2).sum(axis=1), stats.chi2(p).cdf).pvalue > 1e-6
    # Of every row, also the first ones of a block, each entry is normal.
    for i in range(3):
        assert stats.kstest(W[i::p].ravel(), stats.norm.cdf).pvalue > 1e-6


def test_directional_rows_are_uniform_on_the_sphere():
    for p in (1, 2, 5):
        W = laws.Directional().draw(p, 4000, 3).materialize(dtype=np.float64)
        np.testing.assert_allclose((W**2).sum(axis=1), p, rtol=1e-14)
        if p > 1:
            # A squared coordinate over the squared norm is Beta(1/2, (p - 1)/2).
            share = W[:, 0] ** 2 / p
            assert stats.kstest(share, stats.beta(0.5, (p - 1) / 2).cdf).pvalue > 1e-6


def test_spherical_rows_have_one_norm_and_pairs_are_orthogonal():
    for p, m in ((1, 9), (2, 5), (9, 40), (16, 40), (33, 6)):
        W = laws.Spherical().draw(p, m, 3).materialize(dtype=np.float64)
        np.testing.assert_allclose((W**2).sum(axis=1), p, rtol=1e-12)
        if p % 2 == 0:
            even, odd = W[: m // 2 * 2 : 2], W[1 : m // 2 * 2 : 2]
            np.testing.assert_allclose((even * odd).sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize(("prime", "size"), [(3, 1), (5, 4), (7, 3), (13, 4), (31, 7), (101, 50), (9973, 12)])
def test_frequencies_are_distinct_powers_of_one_number(prime, size):
    from nanogram.projections.spherical import _next_prime, _subgroup

    frequencies = _subgroup(prime, size)
    assert len(set(frequencies.tolist())) == size
    assert frequencies[0] == 1
    assert ((frequencies > 0) & (frequencies < prime)).all()
    ratio = int(frequencies[1]) if size > 1 else 1
    assert all(int(b) == int(a) * ratio % prime for a, b in pairwise(frequencies))
    if (prime - 1) % size == 0:
        assert pow(ratio, size, prime) == 1, "a whole subgroup, where there is one of that size"
    assert _next_prime(prime) == prime


# --------------------------------------------------------------------------- quasi-random rows


def test_direction_numbers_are_those_of_scipy():
    from scipy.stats import qmc

    from nanogram.projections.qmc import _directions

    directions = _directions(9, 6)
    index = np.arange(64)
    gray = index ^ (index >> 1)
    words = np.zeros((64, 9), dtype=np.uint32)
    for k in range(6):
        words[gray >> k & 1 == 1] ^= directions[k]
    expected = qmc.Sobol(9, scramble=False, bits=32).random(64)
    np.testing.assert_array_equal(words * 2.0**-32, expected)


@pytest.mark.parametrize("m", [1, 2, 64, 1024])
def test_quasi_random_rows_are_stratified(m):
    """A net stays a net when scrambled: every input has one row in each of m equal slices."""
    W = laws.QMC().draw(13, m, 3).materialize(dtype=np.float64)
    slices = np.sort(np.floor(stats.norm.cdf(W) * m), axis=0)
    np.testing.assert_array_equal(slices, np.repeat(np.arange(m)[:, None], 13, axis=1))
    # Two inputs: one row in each of the (1 / sqrt m)-squares of the first two.
    side = int(np.sqrt(m))
    if side * side == m:
        cells = np.floor(stats.norm.cdf(W[:, :2]) * side).astype(int)
        assert len({tuple(cell) for cell in cells.tolist()}) == m


def test_quasi_random_entries_are_normal_over_seeds():
    W = np.array([laws.QMC().draw(4, 5, seed).materialize()[[0, 3]].ravel() for seed in range(1000)])
    for column in W.T:
        assert stats.kstest(column, stats.norm.cdf).pvalue > 1e-6


# --------------------------------------------------------------------------- memory


@pytest.mark.filterwarnings("ignore::nanogram.projections.SparsityWarning")
@pytest.mark.parametrize("name", ["gaussian", "rademacher", "ternary", "circulant", "hadamard", "directional", "qmc"])
def test_large_projections_work_in_a_bounded_space(name):
    p, m = 400, 40_000
    drawn = make_projection(name).draw(p, m, 3)
    X = np.random.default_rng(0).standard_normal((3, p)).astype(np.float32)
    out = np.empty((3, m), dtype=np.float32)
    drawn.project(X, out=out[:, :100], components=slice(0, 100))
    tracemalloc.start()
    drawn.project(X, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert drawn.cache_nbytes == 0
    assert 4 * p * m > 1 << 25, "W itself is larger than what is kept"
    assert peak < 3 * WORKSPACE, f"{peak / 2**20:.1f} MiB"


def test_small_projections_are_kept_but_not_pickled():
    drawn = laws.Gaussian().draw(20, 30, 3)
    X = np.ones((2, 20), dtype=np.float32)
    first = drawn.project(X)
    assert drawn.cache_nbytes == 4 * 20 * 30
    np.testing.assert_array_equal(drawn.project(X), first)
    copy = pickle.loads(pickle.dumps(drawn))
    assert copy.cache_nbytes == 0
    np.testing.assert_array_equal(copy.project(X), first)
