"""Steps of k-means on codes: starts, mini-batches, distances and sums, all by products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram.linear_model._design import Design
from nanogram.projections import Stream

__all__ = ["Patience", "Run", "assign", "plus_plus", "squared_distances", "values_of"]

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


class Run:
    """Centres and the weight each has been given so far."""

    def __init__(self, centres: Float64, seed: int) -> None:
        self.centres, self.seed = centres, seed
        self.counts = np.zeros(len(centres))

    def step(self, design: Design, ids: Int64, norms: Float64, weights: Float64) -> float:
        """A mini-batch (Sculley 2010): each centre becomes the mean of all rows it was ever given. Its inertia."""
        live = ids >= 0
        w = np.where(live, weights[np.maximum(ids, 0)], 0.0)
        labels, distances = assign(design, self.centres, norms[np.maximum(ids, 0)])
        sums, given = sums_of(design, labels, w, len(self.centres))
        self.counts += given
        hit = given > 0
        self.centres[hit] += (sums[hit] - given[hit, None] * self.centres[hit]) / self.counts[hit, None]
        return float(w @ distances)

    def recentre(self, design: Design, labels: Int64, distances: Float64, weights: Float64) -> None:
        """Each centre becomes the mean of its rows; one without rows goes to the row farthest from its own centre."""
        sums, given = sums_of(design, labels, weights, len(self.centres))
        hit = given > 0
        self.centres[hit] = sums[hit] / given[hit, None]
        self.counts = given
        empty = np.flatnonzero(~hit)
        if len(empty):
            far = np.argsort(np.where(weights > 0, distances, -1.0), kind="stable")[::-1][: len(empty)]
            self.centres[empty] = values_of(design, far)

    def reassign(self, design: Design, rows: Int64, norms: Float64, weights: Float64, ratio: float, epoch: int) -> None:
        """Centres of next to no rows are put on rows drawn by their squared distance from the nearest centre."""
        poor = np.flatnonzero(self.counts < ratio * self.counts.max())
        if not len(poor):
            return
        stream = Stream(self.seed, "kmeans.reassign", epoch)
        ids = np.sort(rows[stream.permutation(len(rows))[: max(1024, 3 * len(poor))]])
        sample = design.rows(ids)
        share = np.cumsum(weights[ids] * assign(sample, self.centres, norms[ids])[1])
        if share[-1] <= 0:
            return
        draws = stream.uniform(1, len(poor), draw=4)[0] * share[-1]
        picked = np.minimum(np.searchsorted(share, draws, side="right"), len(ids) - 1)
        self.centres[poor] = values_of(sample, picked)
        kept = np.setdiff1d(np.arange(len(self.counts)), poor)
        self.counts[poor] = self.counts[kept].min()


class Patience:
    """Ends mini-batches when the smoothed inertia has not fallen for some time, as scikit-learn's do."""

    def __init__(self, most: Any, n_rows: int) -> None:
        self.most, self.n_rows = most, n_rows
        self.smoothed, self.least, self.waited, self.seen = np.inf, np.inf, 0, 0

    def ends(self, inertia: float, size: int) -> bool:
        """Take in the mean inertia of a batch of so many rows."""
        self.seen += 1
        if self.seen == 1:  # of centres that the first rows were not fitted to
            return False
        share = min(2.0 * size / (self.n_rows + 1), 1.0)
        self.smoothed = inertia if not np.isfinite(self.smoothed) else (1 - share) * self.smoothed + share * inertia
        if self.smoothed < self.least:
            self.least, self.waited = self.smoothed, 0
        else:
            self.waited += 1
        return self.most is not None and self.waited >= self.most


def squared_distances(design: Design, centres: Float64, norms: Float64) -> Float64:
    """Squared distances (n, k), at least 0."""
    out = design.matvec(np.ascontiguousarray(centres.T))
    out *= -2.0
    out += norms[:, None]
    out += np.einsum("ij,ij->i", centres, centres)
    return np.maximum(out, 0.0, out=out)


def assign(design: Design, centres: Float64, norms: Float64) -> tuple[Int64, Float64]:
    """Nearest centre of each row, the first one of equals, and its squared distance."""
    squared = squared_distances(design, centres, norms)
    labels = squared.argmin(axis=1)
    return labels, squared[np.arange(len(labels)), labels]


def sums_of(design: Design, labels: Int64, weights: Float64, k: int) -> tuple[Float64, Float64]:
    """Weighted sums of the rows of each cluster (k, m), and of their weights (k,)."""
    members = np.zeros((len(labels), k))
    members[np.arange(len(labels)), labels] = weights
    return np.ascontiguousarray(design.rmatvec(members).T), members.sum(axis=0)


def values_of(design: Design, picked: Any) -> Float64:
    """The values of some rows: products with columns of one 1, which lose nothing."""
    ones = np.zeros((design.shape[0], len(picked)))
    ones[picked, np.arange(len(picked))] = 1.0
    return np.ascontiguousarray(design.rmatvec(ones).T)


def plus_plus(sample: Design, norms: Float64, weights: Float64, k: int, stream: Stream) -> Float64:
    """Greedy k-means++ (Arthur and Vassilvitskii 2007): of 2 + log k draws by squared distance the best is kept."""
    n, trials = sample.shape[0], 2 + int(np.log(k))
    draws = stream.uniform(k, trials, draw=8)

    def drawn(share: Float64, u: Float64) -> Int64:
        total = np.cumsum(share)
        return np.asarray(np.minimum(np.searchsorted(total, u * total[-1], side="right"), n - 1))

    first = drawn(weights, draws[0, :1])
    centres = np.empty((k, sample.shape[1]))
    centres[0] = values_of(sample, first)[0]
    closest = squared_distances(sample, centres[:1], norms)[:, 0]
    for j in range(1, k):
        share = weights * closest
        picked = drawn(share if share.any() else weights, draws[j])
        candidates = values_of(sample, picked)
        distances = np.minimum(squared_distances(sample, candidates, norms), closest[:, None])
        best = int((weights @ distances).argmin())
        centres[j], closest = candidates[best], distances[:, best]
    return centres
