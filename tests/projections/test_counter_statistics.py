"""Whether the numbers look random. Seeds are fixed; a threshold is what a true random source would pass all but once
in 10^6 times, divided by the number of figures compared where there are several.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from scipy import stats

from nanogram.projections.counter import Stream, row_keys, threefry4x32

CHANCE = 1e-6
STREAM = Stream(20240229, "statistics")


def z_limit(figures=1):
    """Largest of that many standard normal figures, two-sided."""
    return stats.norm.isf(CHANCE / 2 / figures)


def assert_counts(observed, probabilities=None):
    """Chi-square of counts along the last axis."""
    observed = np.atleast_2d(observed)
    n = observed.sum(axis=-1, keepdims=True)
    expected = n * (1 / observed.shape[-1] if probabilities is None else np.asarray(probabilities))
    chi2 = ((observed - expected) ** 2 / expected).sum(axis=-1)
    df = observed.shape[-1] - 1
    assert chi2.max() < stats.chi2.isf(CHANCE / 2 / chi2.size, df)
    assert chi2.min() > stats.chi2.ppf(CHANCE / 2 / chi2.size, df)


def assert_uncorrelated(x, y):
    """Products of two standard sequences have mean 0 and variance 1."""
    assert abs((x * y).mean()) * np.sqrt(x.size) < z_limit()


# --------------------------------------------------------------------------- words


@pytest.mark.parametrize("shape", [(1, 2**19), (2**19, 1), (2**9, 2**10)])
def test_bits_and_bytes_are_even(shape):
    words = STREAM.bits(*shape).ravel()
    ones = np.array([(words >> np.uint32(b) & np.uint32(1)).sum() for b in range(32)])
    z = (ones - words.size / 2) / np.sqrt(words.size / 4)
    assert np.abs(z).max() < z_limit(32)
    assert_counts([np.bincount(words >> np.uint32(s) & np.uint32(255), minlength=256) for s in (0, 8, 16, 24)])


def test_bits_of_a_word_are_independent():
    bits = np.unpackbits(STREAM.bits(1, 2**16).view(np.uint8).reshape(-1, 4), axis=1) * 2.0 - 1.0
    products = bits.T @ bits / np.sqrt(len(bits))
    assert np.abs(products[np.triu_indices(32, 1)]).max() < z_limit(32 * 31 // 2)


def test_neighbours_are_independent():
    """Correlations at lags along rows, columns and draws, of the numbers and of their squares."""
    x = np.stack([STREAM.normal(400, 401, draw=d, dtype=np.float64) for d in range(4)])
    for values in (x, (x * x - 1) / np.sqrt(2)):
        z = []
        for axis, lags in ((0, (1, 2, 3)), (1, range(1, 18)), (2, range(1, 18))):
            for lag in lags:
                products = np.take(values, range(lag, values.shape[axis]), axis) * np.take(
                    values, range(values.shape[axis] - lag), axis
                )
                z.append(products.mean() * np.sqrt(products.size))
        assert np.abs(z).max() < z_limit(2 * len(z))


def test_serial_pairs_are_even():
    for words in (STREAM.bits(1, 2**19)[0], STREAM.bits(2**19, 1)[:, 0]):
        high = (words >> np.uint32(28)).astype(np.int64)
        assert_counts(np.bincount(high[0::2] * 16 + high[1::2], minlength=256))


def test_collisions_of_words_are_as_many_as_chance_has():
    n = 2**19
    pairs = n - len(np.unique(STREAM.bits(1, n)))
    # The number of coincidences is close to Poisson with this mean.
    mean = n * (n - 1) / 2**33
    assert stats.poisson.ppf(CHANCE, mean) <= pairs <= stats.poisson.isf(CHANCE, mean)


# --------------------------------------------------------------------------- avalanche


def assert_half_flipped(before, after, figures):
    """Each output bit flips with probability one half, and so does their number."""
    flips = np.unpackbits((before ^ after).view(np.uint8).reshape(len(before), -1), axis=1).astype(np.float64)
    n, width = flips.shape
    assert abs(flips.sum() - n * width / 2) / np.sqrt(n * width / 4) < z_limit(2 * figures)
    z = (flips.sum(axis=0) - n / 2) / np.sqrt(n / 4)
    assert np.abs(z).max() < z_limit(2 * figures * width)


def test_one_bit_of_counter_or_key_changes_half_the_result():
    n = 2000
    inputs = STREAM.bits(n, 8, draw=5)
    before = threefry4x32(inputs[:, :4], inputs[:, 4:])
    for bit in range(256):
        flipped = inputs.copy()
        flipped[:, bit // 32] ^= np.uint32(1 << bit % 32)
        assert_half_flipped(before, threefry4x32(flipped[:, :4], flipped[:, 4:]), 256)


def test_one_bit_of_a_row_changes_half_its_key():
    rows = STREAM.bits(2000, 9).view(np.int32)
    before = row_keys(rows)
    for bit in range(0, 288, 5):
        flipped = rows.view(np.uint32).copy()
        flipped[:, bit // 32] ^= np.uint32(1 << bit % 32)
        assert_half_flipped(before, row_keys(flipped.view(np.int32)), 58)


def test_one_bit_of_seed_or_salt_changes_half_the_key():
    keys = np.array([Stream(s, "a", t).key for s, t in [(i, i * i) for i in range(300)]], dtype=np.uint32)
    for bit in (0, 1, 31, 32, 63):
        seeds = np.array([Stream(i ^ 1 << bit, "a", i * i).key for i in range(300)], dtype=np.uint32)
        salts = np.array([Stream(i, "a", i * i ^ 1 << bit).key for i in range(300)], dtype=np.uint32)
        assert_half_flipped(keys, seeds, 10)
        assert_half_flipped(keys, salts, 10)


# --------------------------------------------------------------------------- streams and rows


def test_streams_are_uncorrelated():
    streams = [Stream(0, "a"), Stream(1, "a"), Stream(2**63, "a"), Stream(0, "b"), Stream(0, "a", 1), Stream(1, "a", 1)]
    x = [s.normal(1, 2**17, dtype=np.float64)[0] for s in streams]
    for a, b in combinations(x, 2):
        assert_uncorrelated(a, b)
        assert abs((np.sign(a) == np.sign(b)).mean() - 0.5) * 2 * np.sqrt(a.size) < z_limit()


def test_rows_by_content_are_uncorrelated():
    """Rows that differ in one number by one: keys all different, noise unrelated."""
    levels = np.arange(2**16)
    rows = np.zeros((2**16, 20), dtype=np.int16)
    rows[:, 3], rows[:, 17] = levels % 256, levels // 256
    keys = row_keys(rows)
    assert len(np.unique(keys)) == len(keys)
    assert_counts([np.bincount((keys >> np.uint64(s)) & np.uint64(255), minlength=256) for s in range(0, 64, 8)])
    noise = STREAM.normal(keys, 4, dtype=np.float64)
    for lag in (1, 2, 16, 256):
        assert_uncorrelated(noise[lag:], noise[:-lag])


def test_small_rows_collide_as_often_as_chance_has():
    rows = np.stack(np.meshgrid(*[np.arange(-4, 4, dtype=np.int8)] * 6, indexing="ij"), axis=-1).reshape(-1, 6)
    keys = row_keys(rows)
    assert len(np.unique(keys)) == len(keys)
    n = len(keys)
    for half in (keys & np.uint64(0xFFFFFFFF), keys >> np.uint64(32)):
        mean = n * (n - 1) / 2**33
        assert stats.poisson.ppf(CHANCE, mean) <= n - len(np.unique(half)) <= stats.poisson.isf(CHANCE, mean)


# --------------------------------------------------------------------------- laws


def test_moments_of_the_normal():
    x = STREAM.normal(1000, 1000, dtype=np.float64).ravel()
    for k in range(1, 9):
        moment, second = (0 if j % 2 else factorial(j) // 2 ** (j // 2) // factorial(j // 2) for j in (k, 2 * k))
        error = np.sqrt((second - moment**2) / x.size)
        assert abs((x**k).mean() - moment) / error < z_limit(8)


@pytest.mark.parametrize(
    ("values", "law"),
    [
        (STREAM.uniform(300, 400), stats.uniform),
        (STREAM.normal(300, 400), stats.norm),
        (STREAM.cauchy(300, 400), stats.cauchy),
        (STREAM.student_t(300, 400, df=1), stats.cauchy),
        (STREAM.student_t(300, 400, df=3), stats.t(3)),
        (STREAM.student_t(300, 400, df=10), stats.t(10)),
    ],
    ids=["uniform", "normal", "cauchy", "t1", "t3", "t10"],
)
def test_distribution(values, law):
    assert stats.kstest(values.ravel(), law.cdf).pvalue > CHANCE
    assert_counts(np.histogram(law.cdf(values), bins=1000, range=(0, 1))[0])


def test_tails_of_the_normal():
    x = np.abs(STREAM.normal(1000, 2000))
    for limit in (2.0, 3.0, 4.0, 4.5):
        p = 2 * stats.norm.sf(limit)
        beyond = np.count_nonzero(x > limit)
        assert stats.binom.ppf(CHANCE / 8, x.size, p) <= beyond <= stats.binom.isf(CHANCE / 8, x.size, p)


@pytest.mark.parametrize("sparsity", [0.0, 0.05, 1 / 3, 2 / 3, 0.999])
def test_ternary_frequencies(sparsity):
    x = STREAM.ternary(500, 1000, sparsity=sparsity)
    sizes = np.array([np.count_nonzero(x == v) for v in (-1, 0, 1)])
    probabilities = np.array([(1 - sparsity) / 2, sparsity, (1 - sparsity) / 2])
    kept = probabilities > 0
    assert sizes[~kept].sum() == 0
    assert_counts(sizes[kept], probabilities[kept])


@pytest.mark.parametrize("high", [2, 3, 6, 100, 1000])
def test_integers_are_even(high):
    assert_counts(np.bincount(STREAM.integers(400, 500, high=high).ravel(), minlength=high))


def test_permutations_are_even():
    orders = np.array([STREAM.permutation(4, row=i) for i in range(6000)])
    assert_counts(np.unique(orders @ np.array([64, 16, 4, 1]), return_counts=True)[1])


def test_choices_are_even():
    picked = np.concatenate([STREAM.choice(10, 3, row=i) for i in range(4000)])
    observed = np.bincount(picked, minlength=10)
    # Counts of a sample without replacement: variance 4000 * 3/10 * 7/10 each.
    assert np.abs(observed - 1200).max() / np.sqrt(4000 * 0.21) < z_limit(10)
