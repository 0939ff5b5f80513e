"""The bandwidth that gamma names, and the size of rows it is read from.

A kernel exp(-gamma |x - y|^2) is exp(-|x' - y'|^2 / 2) of rows x' = sqrt(2 gamma) x; for every
target but 'laplacian' gamma means that scaling. The Laplacian exp(-gamma |x - y|_1) scales by gamma.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from nanogram.rows import RowSource, as_row_source

__all__ = ["estimate_tau", "resolve_gamma", "row_scale"]

Floats = npt.NDArray[np.float64]

_BLOCK_ENTRIES = 2**19
_MEDIAN_ROWS = 1000


def estimate_tau(X: Any) -> float:
    """The mean squared norm of the centred rows (TRF Lemma 1), block by block; sparse rows stay sparse.

    Parameters
    ----------
    X : rows
        Anything `nanogram.rows.as_row_source` takes; read twice.

    Returns
    -------
    float
        tau of the rows as they are; rows scaled by c have c^2 times as much. 0 for rows that are all alike.

    Examples
    --------
    >>> from nanogram.theory import estimate_tau
    >>> estimate_tau([[0.0, 1.0], [2.0, 1.0]])
    1.0
    """
    return _spread(as_row_source(X), 2)


def _spread(source: RowSource, power: int) -> float:
    """Mean over rows of sum_j |x_j - mean_j|^power, power 1 or 2, in two passes: no large sums are subtracted."""
    step = max(1, _BLOCK_ENTRIES // source.n_columns)
    count, sums = 0, np.zeros(source.n_columns)
    block: Any
    for start, block in source.blocks(step, np.float64, sparse="keep"):
        count = start + block.shape[0]
        sums += block.sum(axis=0)
    if not count:
        raise ValueError("X has no rows; a bandwidth is read from at least one")
    means, total = sums / count, 0.0
    for _, block in source.blocks(step, np.float64, sparse="keep", check_finite=False):
        if sp.issparse(block):
            stored = np.bincount(block.indices, minlength=source.n_columns)
            total += float((np.abs(block.data - means[block.indices]) ** power).sum())
            # What is not stored is zero, |mean_j|^power away from its column's mean.
            total += float((block.shape[0] - stored) @ np.abs(means) ** power)
        else:
            total += float((np.abs(block - means) ** power).sum())
    return total / count


def row_scale(gamma: float, target: str = "rbf") -> float:
    """The factor on rows that gamma means: sqrt(2 gamma), or gamma itself for 'laplacian'."""
    return float(gamma) if target == "laplacian" else float(np.sqrt(2 * gamma))


def resolve_gamma(gamma: float | str, X: Any, target: str = "rbf", random_state: Any = 0) -> float:
    """A number from gamma = number, 'scale' or 'median'.

    Parameters
    ----------
    gamma : float, 'scale' or 'median'
        'scale' makes tau = 1: gamma = 1/(2 tau) with tau from `estimate_tau`, so that the centred, scaled
        rows have a mean squared norm of 1. 'median' is 1/(2 sigma^2), sigma the median distance between
        rows of a random subsample of 1,000. For 'laplacian' the same in the 1-norm: 1 over the mean
        1-norm of the centred rows, and 1 over the median 1-norm distance.
    X : rows
        Anything `nanogram.rows.as_row_source` takes; not looked at when gamma is a number.
    target : str
        'laplacian', or anything else for the scaling by sqrt(2 gamma).
    random_state : int, RandomState or None
        Draws the subsample; the same rows for the same seed.

    Returns
    -------
    float
        1 where rows are all alike and every gamma gives the same kernel. Where more than half of the
        distances are 0, the median is of the others.

    Examples
    --------
    >>> from nanogram._bandwidth import resolve_gamma
    >>> resolve_gamma("scale", [[0.0, 1.0], [2.0, 1.0]]), resolve_gamma("median", [[0.0, 1.0], [2.0, 1.0]])
    (0.5, 0.125)
    """
    if isinstance(gamma, str):
        if gamma not in ("scale", "median"):
            raise ValueError(f"gamma={gamma!r} is not known; it is a positive number, 'scale' or 'median'")
    elif isinstance(gamma, bool) or not (
        isinstance(gamma, numbers.Real | np.ndarray) and np.ndim(gamma) == 0 and np.isreal(gamma) and 0 < gamma < np.inf
    ):
        raise ValueError(f"gamma={gamma!r} must be a positive, finite number, 'scale' or 'median'")
    else:
        return float(gamma)
    source, in_one_norm = as_row_source(X), target == "laplacian"
    if gamma == "scale":
        size = _spread(source, 1) if in_one_norm else 2 * _spread(source, 2)
    else:
        middle = _median_distance(source, random_state, in_one_norm)
        size = middle if in_one_norm else 2 * middle**2
    if size <= 0:
        return 1.0
    if not np.isfinite(1.0 / size):
        raise ValueError(f"gamma={gamma!r} overflows: the rows differ by {size:.3g} only; scale X up")
    return 1.0 / size


def _median_distance(source: RowSource, random_state: Any, in_one_norm: bool) -> float:
    """Median distance between sampled rows, of the positive ones if most are 0; 0 if all are."""
    if isinstance(random_state, int | np.integer):
        seed = int(random_state)
    else:
        seed = int(check_random_state(random_state).randint(2**31 - 1))
    rows: Any = source.sample(_MEDIAN_ROWS, seed, np.float64, sparse="keep").X
    if sp.issparse(rows):
        # Only columns with entries matter; a thousand sparse rows touch few.
        rows = rows[:, np.unique(rows.indices)].toarray()
    distances = pdist(rows, "cityblock" if in_one_norm else "euclidean")
    if np.count_nonzero(distances) * 2 <= len(distances):
        distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 0.0
