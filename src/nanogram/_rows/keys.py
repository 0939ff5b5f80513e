"""Keys of rows: a random number for each row index, the same on every machine and NumPy version."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["fixed_permutation", "row_keys", "smallest_keys"]

_CHUNK = 1 << 20


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble 64-bit words one to one (the finalizer of SplitMix64: Steele, Lea, Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def row_keys(seed: int, start: int, stop: int) -> npt.NDArray[np.uint64]:
    """Keys of rows ``start`` to ``stop - 1``; no two rows below 2^64 share a key under one seed.

    Examples
    --------
    >>> whole = row_keys(7, 0, 6)
    >>> (row_keys(7, 4, 6) == whole[4:]).all().item()
    True
    """
    stream = _mixed(np.array([seed & (2**64 - 1)], dtype=np.uint64))
    rows = np.arange(start, stop, dtype=np.uint64)
    return _mixed(_mixed(rows + np.uint64(0x9E3779B97F4A7C15)) + stream)


def smallest_keys(n: int, n_rows: int, seed: int) -> npt.NDArray[np.int64]:
    """The ``n`` rows of ``n_rows`` with the smallest keys, ascending by row: a uniform sample."""
    rows = np.empty(0, dtype=np.int64)
    keys = np.empty(0, dtype=np.uint64)
    for start in range(0, n_rows, _CHUNK):
        stop = min(start + _CHUNK, n_rows)
        rows = np.concatenate([rows, np.arange(start, stop, dtype=np.int64)])
        keys = np.concatenate([keys, row_keys(seed, start, stop)])
        if len(keys) > n:
            kept = np.argpartition(keys, n)[:n] if n else np.empty(0, dtype=np.intp)
            rows, keys = rows[kept], keys[kept]
    return np.sort(rows)


def fixed_permutation(n_rows: int, seed: int) -> npt.NDArray[np.int64]:
    """A permutation of ``range(n_rows)``, a function of the two numbers alone.

    NumPy promises its own shuffles only within one version; a split of a data set has to last.

    Examples
    --------
    >>> fixed_permutation(5, seed=0).tolist() == fixed_permutation(5, seed=0).tolist()
    True
    >>> sorted(fixed_permutation(5, seed=1).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.argsort(row_keys(seed, 0, n_rows), kind="stable").astype(np.int64)
