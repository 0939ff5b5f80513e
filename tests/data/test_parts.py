"""Fixed permutations, splits, folds and what is standardised by the training rows."""

import hashlib

import numpy as np
import pytest

from nanogram._rows.keys import fixed_permutation, row_keys, smallest_keys
from nanogram.data import parts


def test_the_fixed_permutation_never_changes():
    # Splits of papers and benchmarks depend on these bytes: a change of them is a change of every result.
    digest = hashlib.sha256(fixed_permutation(10_000, seed=0).astype("<i8").tobytes()).hexdigest()
    assert digest == "c62f74a2b87525336171c0103bd2b7b13be737abfec58fd68abaf5df523e0712"
    assert sorted(fixed_permutation(1000, 3).tolist()) == list(range(1000))
    assert len(np.unique(row_keys(0, 0, 100_000))) == 100_000
    np.testing.assert_array_equal(smallest_keys(5, 1000, 3), np.sort(fixed_permutation(1000, 3)[:5]))


def test_samples_over_several_chunks_of_keys(monkeypatch):
    monkeypatch.setattr("nanogram._rows.keys._CHUNK", 64)
    np.testing.assert_array_equal(smallest_keys(100, 1000, 3), np.sort(fixed_permutation(1000, 3)[:100]))
    assert smallest_keys(0, 1000, 3).size == 0


def test_three_parts_cover_all_rows_once():
    cut = parts.three_parts(1000, 0.2, 0.1, seed=0)
    assert {name: len(rows) for name, rows in cut.items()} == {"test": 200, "heldout": 80, "train": 720}
    assert sorted(np.concatenate(list(cut.values())).tolist()) == list(range(1000))
    assert list(parts.three_parts(10, 0, 0, seed=0)) == ["train"]
    with pytest.raises(ValueError, match=r"test_size=1\.5"):
        parts.three_parts(10, 1.5, 0.1, seed=0)


def test_stratified_folds_hold_each_class_evenly():
    y = np.repeat([0, 1, 2], [41, 60, 9])
    folds = parts.stratified_folds(y, 4, seed=0)
    for label in range(3):
        counts = np.bincount(folds[y == label], minlength=4)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(folds)) <= 1


def test_standardising_uses_the_training_rows_alone():
    random = np.random.default_rng(0)
    X = random.normal(5, 3, size=(100, 3)).astype(np.float32)
    X[:, 1] = 7
    bunch = parts.with_parts(X, np.zeros(100), {"train": slice(0, 60), "test": slice(60, None)}, "s", "d")
    scaled = parts.centre_and_scale(bunch)
    np.testing.assert_allclose(scaled.X_train.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled.X_train.std(axis=0), [1, 0, 1], atol=1e-5)
    expected = (X[60:, 0] - X[:60, 0].mean()) / X[:60, 0].std()
    np.testing.assert_allclose(scaled.X_test[:, 0], expected, rtol=1e-4, atol=1e-5)
    assert "X" not in scaled
