"""Spectral clustering of two halves, and how much the two have to say to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from nanogram.activations import Activation

__all__ = ["Agreement", "Halves", "clustering_agreement", "leading_eigenvectors", "mutual_information"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]


class Halves(NamedTuple):
    """Dot products of rows drawn for one split, of which the first half and the second are clustered apart."""

    dots: Floats
    labels: Integers | None
    seed: int

    @classmethod
    def draw(cls, rows: Floats, labels: Integers | None, count: int, seed: int) -> Halves:
        """Up to ``count`` rows in random order, an even number of them."""
        chosen = np.random.default_rng(seed).permutation(len(rows))[: min(count, len(rows)) // 2 * 2]
        return cls(rows[chosen] @ rows[chosen].T, None if labels is None else labels[chosen], seed)


class Agreement(NamedTuple):
    """Bits that two clusterings share; share of the first K - 1 eigenvalues in the first K, the mean of both."""

    bits: float
    prominence: float


def leading_eigenvectors(kernel: Floats, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues of P K P, decreasing, and their unit eigenvectors."""
    centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    n = len(centred)
    values, vectors = eigh(centred, subset_by_index=[n - k, n - 1])
    return values[::-1], vectors[:, ::-1]


def clustering_agreement(halves: Halves, activation: Activation, n_clusters: int) -> Agreement:
    """Bits that the clusterings of the two halves share about all rows, or (mean of both) tell of the labels."""
    squares = np.diag(halves.dots)
    kernel = activation.kernel_from_dots(squares, halves.dots, squares)
    n = len(kernel) // 2
    first, second = np.arange(n), np.arange(n, 2 * n)
    names, prominence = zip(
        *(_cluster_all(kernel, own, n_clusters, halves.seed) for own in (first, second)), strict=True
    )
    if halves.labels is None:
        return Agreement(mutual_information(names[0], names[1]), float(np.mean(prominence)))
    return Agreement(
        float(np.mean([mutual_information(name, halves.labels) for name in names])), float(np.mean(prominence))
    )


def _cluster_all(kernel: Floats, own: Integers, n_clusters: int, seed: int) -> tuple[Integers, float]:
    """Clusters of all rows: k-means on the leading eigenvectors of the rows ``own``, others by K(x, own) v / lambda."""
    from sklearn.cluster import KMeans

    inner = kernel[np.ix_(own, own)]
    values, vectors = leading_eigenvectors(inner, n_clusters)
    means = inner.mean(axis=0)
    outer = kernel[:, own]
    outer = outer - outer.mean(axis=1)[:, None] - means + means.mean()
    # Directions without any variance (fewer columns than clusters) say nothing.
    sound = values > 1e-10 * max(values[0], 1e-300)
    places = outer @ (vectors[:, sound] / values[sound])
    places[own] = vectors[:, sound]
    fitted = KMeans(n_clusters, n_init=4, random_state=seed).fit(vectors[:, sound])
    prominence = float(values[:-1].sum() / values.sum())
    return np.asarray(fitted.predict(np.ascontiguousarray(places)), dtype=np.intp), prominence


def mutual_information(a: Integers, b: Integers) -> float:
    """Mutual information of two labellings in bits.

    Examples
    --------
    >>> import numpy as np
    >>> mutual_information(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0)
    joint = table / len(a)
    product = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    filled = joint > 0
    return float(np.sum(joint[filled] * np.log2(joint[filled] / product[filled])))
