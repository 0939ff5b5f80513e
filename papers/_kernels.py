"""What items about K and K~ share: kernels estimated as the papers do, eigenpairs, clusters and their accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment

from nanogram.activations import Activation, make_activation
from nanogram.theory.kernel_error import centred

__all__ = ["accuracy", "alignment", "averaged_kernel", "clusters", "plot_grid", "signed_like", "top_eigenpairs"]

Floats = npt.NDArray[np.float64]

#: Draws of W that SPECTRUM averages over, and rows of W in each (those of its experiments).
DRAWS, ROWS = 500, 32


def averaged_kernel(
    X: Floats, activation: Activation | str, seed: int, *, draws: int = DRAWS, rows: int = ROWS
) -> Floats:
    """P G P, G the average of s(W x).s(W y)/n over draws of a Gaussian W: how the papers get their K."""
    function, rng = make_activation(activation), np.random.default_rng([seed, 1])
    total, count = np.zeros((len(X), len(X))), draws * rows
    for start in range(0, count, 2048):
        W = rng.standard_normal((min(2048, count - start), X.shape[1]))
        Z = np.asarray(function(X @ W.T))
        total += Z @ Z.T
    return centred(total / count)


def top_eigenpairs(kernel: Floats, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, decreasing, and their eigenvectors as columns."""
    n = len(kernel)
    values, vectors = eigh(kernel, subset_by_index=[n - k, n - 1])
    return values[::-1], vectors[:, ::-1]


def alignment(u: Floats, v: Floats) -> float:
    """Squared cosine."""
    return float((u @ v) ** 2 / ((u @ u) * (v @ v)))


def signed_like(u: Floats, v: Floats) -> Floats:
    """U with the sign that makes u.v positive."""
    return u if u @ v >= 0 else -u


def clusters(points: Floats, k: int, seed: int) -> npt.NDArray[np.intp]:
    """k-means from ten starts."""
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(k, n_init=10, random_state=seed).fit_predict(points))


def accuracy(found: Any, labels: Any) -> float:
    """Share of right names, clusters named as it is best for them."""
    found, labels = np.unique(found, return_inverse=True)[1], np.unique(labels, return_inverse=True)[1]
    table = np.zeros((found.max() + 1, labels.max() + 1))
    np.add.at(table, (found, labels), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(labels))


def plot_grid(rows: int, columns: int, size: tuple[float, float] = (5.0, 3.2)) -> tuple[Any, Any]:
    """Figure and axes, always in two dimensions."""
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="constrained", squeeze=False)
