"""Leading eigenvectors that a Gaussian mixture of given statistics would show (SPECTRUM Fig. 8 and 10)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from nanogram.activations import Activation
from nanogram.theory import GMMStatistics
from nanogram.theory.kernel_error import centred

__all__ = ["MixturePrediction", "aligned", "class_means", "eigenvector_of", "exact_kernel", "mixture_prediction"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


class MixturePrediction(NamedTuple):
    """Mean and standard deviation of an eigenvector's entries in each class, over draws of the mixture."""

    mean: Floats
    std: Floats


def exact_kernel(rows: Floats, activation: Activation) -> Floats:
    """P K P of rows as they are."""
    squares = np.einsum("ij,ij->i", rows, rows)
    kernel = activation.kernel_from_dots(squares, rows @ rows.T, squares)
    kernel[np.diag_indices_from(kernel)] = activation.second_moment(squares)
    return centred(kernel)


def eigenvector_of(kernel: Floats, component: int) -> tuple[float, Floats]:
    """The eigenvalue number ``component`` from the top, and its unit eigenvector."""
    place = len(kernel) - 1 - component
    values, vectors = eigh(kernel, subset_by_index=[place, place])
    return float(values[0]), np.asarray(vectors[:, 0])


def class_means(vector: Floats, classes: Integers, K: int) -> Floats:
    """Mean entry of each class."""
    return np.bincount(classes, vector, K) / np.maximum(np.bincount(classes, minlength=K), 1)


def aligned(vector: Floats, classes: Integers, reference: Floats) -> Floats:
    """The vector with the sign that brings its class means near to the reference."""
    counts = np.bincount(classes, minlength=len(reference))
    return vector if (counts * class_means(vector, classes, len(reference))) @ reference >= 0 else -vector


def mixture_prediction(
    statistics: GMMStatistics,
    classes: Integers,
    activation: Activation,
    component: int,
    reference: Floats,
    *,
    n_draws: int,
    random_state: int,
) -> MixturePrediction:
    """Draw ``n_draws`` mixtures with these means and covariances and as many rows of each class; pool their entries.

    Entries of one class are exchangeable, so their pooled mean and standard deviation say all that can be said of one
    of them. The rows are centred as data would be.
    """
    if statistics.covariances is None:
        raise ValueError("statistics hold no covariances: gmm_statistics(..., keep_covariances=True)")
    rng = np.random.default_rng(random_state)
    p, K = statistics.M.shape
    # C_a and mu_a are in the papers' units: rows have covariance C_a / p and mean mu_a / sqrt(p).
    factors = [_factor(C) / np.sqrt(p) for C in statistics.covariances]
    means = statistics.M.T / np.sqrt(p)
    members = [np.flatnonzero(classes == a) for a in range(K)]
    first, second = np.zeros(K), np.zeros(K)
    counts = np.array([len(rows_of) for rows_of in members], dtype=np.float64)
    for _ in range(n_draws):
        rows = rng.standard_normal((len(classes), p))
        for rows_of, factor, mean in zip(members, factors, means, strict=True):
            rows[rows_of] = mean + (rows[rows_of] @ factor if factor.ndim == 2 else rows[rows_of] * factor)
        rows -= rows.mean(axis=0)
        _, vector = eigenvector_of(exact_kernel(rows, activation), component)
        vector = aligned(vector, classes, reference)
        first += np.bincount(classes, vector, K)
        second += np.bincount(classes, vector**2, K)
    mean = first / (n_draws * counts)
    return MixturePrediction(mean, np.sqrt(np.maximum(second / (n_draws * counts) - mean**2, 0.0)))


def _factor(C: Any) -> Floats:
    """F with F^T F = C, so that z F has covariance C; a number or (p,) for diagonal ones."""
    if C.ndim < 2:
        return np.asarray(np.sqrt(C))
    values, vectors = np.linalg.eigh(C)
    kept = values > 1e-12 * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])) @ vectors[:, kept].T)
