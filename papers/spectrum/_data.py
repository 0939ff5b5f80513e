"""The paper's real data in its scaling: centred on the whole set, mean squared norm 1."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from nanogram import datasets
from nanogram.theory import GMMStatistics, gmm_statistics

__all__ = ["draw", "rows_of", "statistics_of"]

Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=2)
def rows_of(name: str) -> tuple[Floats, npt.NDArray[np.int64]]:
    """All rows of a set and their classes, 0 and 1.

    ``mnist``: training images of 6 and 8, 5,918 and 5,851, as in the paper. ``eeg``: sets B and E of Bonn, 4,097 rows
    of p = 100 each: a row is one *instant* of the 100 recordings of a set (see the remark of Table 3).
    ``eeg_windows``: 100 *consecutive samples* of one recording, 4,000 rows a set.
    """
    if name == "mnist":
        bunch = datasets.fetch_mnist(classes=(6, 8), download=False)
        X, y = bunch.X_train, (bunch.y_train == 8).astype(np.int64)
    elif name == "eeg":
        bunch = datasets.fetch_eeg(rows="instants", test_size=0, download=False)
        X, y = bunch.X_train, bunch.y_train.astype(np.int64)
    elif name == "eeg_windows":
        bunch = datasets.fetch_eeg(download=False)
        X, y = np.concatenate([bunch.X_train, bunch.X_test]), np.concatenate([bunch.y_train, bunch.y_test])
        y = y.astype(np.int64)
    else:
        raise ValueError(f"name={name!r} must be 'mnist', 'eeg' or 'eeg_windows'")
    X = X.astype(np.float64)
    X -= X.mean(axis=0)
    return X / np.sqrt(np.mean(np.einsum("ij,ij->i", X, X))), y


@lru_cache(maxsize=2)
def statistics_of(name: str) -> GMMStatistics:
    """Means and covariances of the whole set, as the paper has them."""
    X, y = rows_of(name)
    return gmm_statistics(X, y, keep_covariances=True, shrinkage="none")


def draw(name: str, n: int, rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.int64]]:
    """N rows at random, half of each class, sorted by class."""
    X, y = rows_of(name)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == a), n // 2, replace=False) for a in (0, 1)])
    return X[chosen], y[chosen]
