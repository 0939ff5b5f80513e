"""Four classes that cross two means and two covariances (figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nanogram import kernels
from nanogram.activations import LeakyReLU
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.theory import equivalent_kernel, gmm_statistics
from nanogram.theory.kernel_error import centred
from papers._kernels import accuracy, averaged_kernel, clusters, top_eigenpairs
from papers.item import Outcome

P, N = 512, 256


def measure(parameters: Mapping[str, Any], seed: int) -> Outcome:
    """k-means on the two leading eigenvectors: into two groups by mean or covariance, and into the four classes."""
    activation = LeakyReLU(parameters["a_plus"], parameters["a_minus"])
    means, covariances = mixture_parameters(P, "crossed", mean=5.0, spread=15.0)
    X, y, *_ = make_gaussian_mixture(N, P, means=means, covariances=covariances, random_state=seed)
    known = gmm_statistics(X, y, means=means, covariances=list(covariances))
    K = centred(kernels.of_activation(activation, X))
    equivalent = equivalent_kernel(X, y, activation, statistics=known)
    drawn = averaged_kernel(X, activation, seed)
    _, vectors = top_eigenpairs(drawn, 2)
    # Eigenvectors of unit norm, as in the paper's figures; classes are (mean, covariance) = (y // 2, y % 2).
    four, two = clusters(vectors, 4, seed), [clusters(vectors[:, [k]], 2, seed) for k in (0, 1)]
    found: dict[str, Any] = {
        "error": float(np.linalg.norm(K - equivalent, 2) / np.linalg.norm(K, 2)),
        "four": accuracy(four, y),
        "by_mean": max(accuracy(cut, y // 2) for cut in two),
        "by_covariance": max(accuracy(cut, y % 2) for cut in two),
    }
    if seed == 0:
        found |= {"vectors": vectors.T, "equivalent_vectors": top_eigenpairs(equivalent, 2)[1].T, "labels": y}
    return Outcome(found["error"], found, K.nbytes)
