r"""`CodeKMeans`: k-means on packed codes by mini-batches, assignments by products.

Distances come from ``|z - c|^2 = |z|^2 - 2 z.c + |c|^2``, the middle term one product of the codes with all centres;
sums of the rows of a cluster are the product of the transposed codes with columns of zeros and weights. Neither unpacks
a row. In feature space this is kernel k-means with the approximated kernel.
"""

from __future__ import annotations

import numbers
import warnings
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nanogram.linear_model._batches import Batches
from nanogram.linear_model._callbacks import CallbackSupportMixin, progress, with_callbacks
from nanogram.linear_model._design import Design, checked_weights, read_features
from nanogram.projections import Stream, seed_from

__all__ = ["CodeKMeans"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


class CodeKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, CallbackSupportMixin, BaseEstimator):
    """Mini-batch k-means on packed codes, dense or sparse arrays; the centres are kept in double.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"} or array of shape (n_clusters, m), default="k-means++"
    n_init : int or "auto", default="auto"
        Starts tried on a sample of rows, of which the best one is run; "auto": 1 for "k-means++", 3 for "random".
    batch_size : int, default=1024
    max_iter : int, default=100
        Most epochs of mini-batches.
    max_no_improvement : int or None, default=10
        Mini-batches end when the smoothed inertia of so many of them in a row has not fallen.
    n_polish : int, default=10
        Most passes over all rows after that (Lloyd's algorithm), until no label changes.
    init_size : int or None, default=None
        Rows of the sample; None: ``max(3 batch_size, 3 n_clusters)``.
    reassignment_ratio : float, default=0.01
        Centres with less than this share of the largest cluster's weight are placed anew after an epoch.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1 prints progress now and then, 2 each epoch.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, m)
        In feature space.
    labels_ : array of shape (n,)
    inertia_ : float
        Weighted sum of squared distances to the nearest centre.
    n_iter_ : int
        Epochs of mini-batches, the last one perhaps in part, and passes of polishing.
    n_steps_ : int
        Mini-batches.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.cluster import CodeKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(c, 0.3, (200, 2)) for c in (-2.0, 0.0, 2.0)])
    >>> Z = TernaryFeatures(512, random_state=0).fit_transform(X)
    >>> np.bincount(CodeKMeans(3, random_state=0).fit_predict(Z)).tolist()
    [200, 200, 200]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        batch_size: int = 1024,
        max_iter: int = 100,
        max_no_improvement: int | None = 10,
        n_polish: int = 10,
        init_size: int | None = None,
        reassignment_ratio: float = 0.01,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_no_improvement = max_no_improvement
        self.n_polish = n_polish
        self.init_size = init_size
        self.reassignment_ratio = reassignment_ratio
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find clusters of features X (n, m).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
            At least n_clusters rows.
        y : None
            Ignored.
        sample_weight : float or array of shape (n,), optional
            At least 0, not all 0.
        """
        self._check_settings()
        design = read_features(self, X, reset=True)
        weights = checked_weights(sample_weight, design.shape[0])
        rows = np.arange(design.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        self._check_rows(len(rows))
        seed = seed_from(self.random_state)
        norms = design.squared_row_norms()
        weights = np.ones(design.shape[0]) if weights is None else weights
        run = _Run(self._start(design, rows, norms, weights, seed), seed)
        self.n_iter_ = self.n_steps_ = 0
        told = {"X": X, "y": y, "sample_weight": sample_weight}
        with progress(self, int(self.max_iter), **told, step="epoch") as tick:
            batches = Batches(design, rows, int(self.batch_size))
            patience = _Patience(self.max_no_improvement, len(rows))
            for epoch in range(int(self.max_iter)):
                done = False
                for batch in batches.epoch(seed, epoch):
                    inertia = run.step(batch.design, batch.ids, norms, weights)
                    self.n_steps_ += 1
                    done = patience.ends(inertia / batch.n_rows, batch.n_rows)
                    if done:
                        break
                self.n_iter_ += 1
                stop = tick(model=partial(dict, cluster_centers_=run.centres.copy()), inertia=patience.smoothed)
                if done or stop:
                    break
                run.reassign(design, rows, norms, weights, float(self.reassignment_ratio), epoch)
        self._polish(run, design, norms, weights)
        self.cluster_centers_ = run.centres
        self._counts = run.counts
        labels, distances = _assign(design, run.centres, norms)
        self.labels_ = labels.astype(np.int32)
        self.inertia_ = float(weights @ distances)
        found = len(np.unique(labels[rows]))
        if found < self.n_clusters:
            warnings.warn(
                f"{found} distinct clusters were found, fewer than n_clusters={self.n_clusters}: are rows repeated?",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on with these rows, as one mini-batch; the first call finds centres among them."""
        del y
        self._check_settings()
        first = not hasattr(self, "cluster_centers_")
        design = read_features(self, X, reset=first)
        n = design.shape[0]
        weights = checked_weights(sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        norms = design.squared_row_norms()
        rows = np.flatnonzero(weights > 0)
        seed = seed_from(self.random_state)
        if first:
            self._check_rows(len(rows))
            self.n_iter_ = self.n_steps_ = 0
            run = _Run(self._start(design, rows, norms, weights, seed), seed)
        else:
            run = _Run(self.cluster_centers_.copy(), seed)
            run.counts = self._counts.copy()
        run.step(design, np.arange(n), norms, weights)
        self.n_steps_ += 1
        self.n_iter_ += 1
        self.cluster_centers_, self._counts = run.centres, run.counts
        labels, distances = _assign(design, run.centres, norms)
        self.labels_ = labels.astype(np.int32)
        self.inertia_ = float(weights @ distances)
        return self

    def _polish(self, run: _Run, design: Design, norms: Float64, weights: Float64) -> None:
        """Lloyd's passes over all rows."""
        last: Int64 | None = None
        for _ in range(int(self.n_polish)):
            labels, distances = _assign(design, run.centres, norms)
            if last is not None and np.array_equal(labels, last):
                return
            run.recentre(design, labels, distances, weights)
            self.n_iter_ += 1
            last = labels

    # ------------------------------------------------------------------ the start

    def _start(self, design: Design, rows: Int64, norms: Float64, weights: Float64, seed: int) -> Float64:
        """Centres (k, m) to begin with."""
        k, m = int(self.n_clusters), design.shape[1]
        if not isinstance(self.init, str):
            centres = np.array(self.init, dtype=np.float64)
            if centres.shape != (k, m):
                raise ValueError(f"init has shape {centres.shape}; (n_clusters, n_features)={(k, m)} is accepted")
            if not np.isfinite(centres).all():
                raise ValueError("init holds NaN or infinity; finite numbers are accepted")
            return centres
        size = max(3 * int(self.batch_size), 3 * k) if self.init_size is None else int(self.init_size)
        size = min(max(size, k), len(rows))
        tries = int(self.n_init) if not isinstance(self.n_init, str) else (1 if self.init == "k-means++" else 3)
        best, least = np.empty((0, m)), np.inf
        for attempt in range(tries):
            stream = Stream(seed, "kmeans.start", attempt)
            ids = np.sort(rows[stream.permutation(len(rows))[:size]])
            sample = design if size == design.shape[0] else design.rows(ids)
            if self.init == "random":
                picked = stream.permutation(size, draw=2)[:k] if size > k else np.arange(size)
                centres = _rows(sample, picked)
            else:
                centres = _plus_plus(sample, norms[ids], weights[ids], k, stream)
            inertia = float(weights[ids] @ _assign(sample, centres, norms[ids])[1]) / size if tries > 1 else 0.0
            if inertia < least:
                best, least = centres, inertia
        return best

    # ------------------------------------------------------------------ settings

    def _check_settings(self) -> None:
        for name, least in (("n_clusters", 1), ("batch_size", 1), ("max_iter", 1), ("n_polish", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value is True or value < least:
                raise ValueError(f"{name}={value!r} is not accepted; an integer of at least {least} is")
        for name in ("max_no_improvement", "init_size"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= 1):
                raise ValueError(f"{name}={value!r} is not accepted; None or an integer of at least 1 is")
        if self.n_init != "auto" and not (isinstance(self.n_init, int | np.integer) and self.n_init >= 1):
            raise ValueError(f"n_init={self.n_init!r} is not accepted; 'auto' or an integer of at least 1 is")
        if isinstance(self.init, str) and self.init not in ("k-means++", "random"):
            raise ValueError(f"init={self.init!r} is not known; 'k-means++', 'random' and an array of centres are")
        ratio = self.reassignment_ratio
        if not (isinstance(ratio, numbers.Real) and 0 <= ratio < 1):
            raise ValueError(f"reassignment_ratio={ratio!r} is not accepted; a number of at least 0 and below 1 is")

    def _check_rows(self, n: int) -> None:
        if n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters} (rows of weight 0 do not count)")

    # ------------------------------------------------------------------ use

    def predict(self, X: Any) -> Array:
        """Number of the nearest centre of each row, (n,)."""
        return self._nearest(X)[0].astype(np.int32)

    def transform(self, X: Any) -> Float64:
        """Distances to all centres, (n, n_clusters)."""
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        return np.sqrt(_squared(design, self.cluster_centers_, design.squared_row_norms()))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Less the (weighted) sum of squared distances to the nearest centre."""
        del y
        distances = self._nearest(X)[1]
        weights = checked_weights(sample_weight, len(distances))
        return -float(distances.sum() if weights is None else weights @ distances)

    def _nearest(self, X: Any) -> tuple[Int64, Float64]:
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        return _assign(design, self.cluster_centers_, design.squared_row_norms())

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class _Run:
    """Centres and the weight each has been given so far."""

    def __init__(self, centres: Float64, seed: int) -> None:
        self.centres, self.seed = centres, seed
        self.counts = np.zeros(len(centres))

    def step(self, design: Design, ids: Int64, norms: Float64, weights: Float64) -> float:
        """A mini-batch (Sculley 2010): each centre becomes the mean of all rows it was ever given. Its inertia."""
        live = ids >= 0
        w = np.where(live, weights[np.maximum(ids, 0)], 0.0)
        labels, distances = _assign(design, self.centres, norms[np.maximum(ids, 0)])
        sums, given = _sums(design, labels, w, len(self.centres))
        self.counts += given
        hit = given > 0
        self.centres[hit] += (sums[hit] - given[hit, None] * self.centres[hit]) / self.counts[hit, None]
        return float(w @ distances)

    def recentre(self, design: Design, labels: Int64, distances: Float64, weights: Float64) -> None:
        """Each centre becomes the mean of its rows; one without rows goes to the row farthest from its own centre."""
        sums, given = _sums(design, labels, weights, len(self.centres))
        hit = given > 0
        self.centres[hit] = sums[hit] / given[hit, None]
        self.counts = given
        empty = np.flatnonzero(~hit)
        if len(empty):
            far = np.argsort(np.where(weights > 0, distances, -1.0), kind="stable")[::-1][: len(empty)]
            self.centres[empty] = _rows(design, far)

    def reassign(self, design: Design, rows: Int64, norms: Float64, weights: Float64, ratio: float, epoch: int) -> None:
        """Centres of next to no rows are put on rows drawn by their squared distance from the nearest centre."""
        poor = np.flatnonzero(self.counts < ratio * self.counts.max())
        if not len(poor):
            return
        stream = Stream(self.seed, "kmeans.reassign", epoch)
        ids = np.sort(rows[stream.permutation(len(rows))[: max(1024, 3 * len(poor))]])
        sample = design.rows(ids)
        share = np.cumsum(weights[ids] * _assign(sample, self.centres, norms[ids])[1])
        if share[-1] <= 0:
            return
        draws = stream.uniform(1, len(poor), draw=4)[0] * share[-1]
        picked = np.minimum(np.searchsorted(share, draws, side="right"), len(ids) - 1)
        self.centres[poor] = _rows(sample, picked)
        kept = np.setdiff1d(np.arange(len(self.counts)), poor)
        self.counts[poor] = self.counts[kept].min()


class _Patience:
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


def _squared(design: Design, centres: Float64, norms: Float64) -> Float64:
    """Squared distances (n, k), at least 0."""
    out = design.matvec(np.ascontiguousarray(centres.T))
    out *= -2.0
    out += norms[:, None]
    out += np.einsum("ij,ij->i", centres, centres)
    return np.maximum(out, 0.0, out=out)


def _assign(design: Design, centres: Float64, norms: Float64) -> tuple[Int64, Float64]:
    """Nearest centre of each row, the first one of equals, and its squared distance."""
    squared = _squared(design, centres, norms)
    labels = squared.argmin(axis=1)
    return labels, squared[np.arange(len(labels)), labels]


def _sums(design: Design, labels: Int64, weights: Float64, k: int) -> tuple[Float64, Float64]:
    """Weighted sums of the rows of each cluster (k, m), and of their weights (k,)."""
    members = np.zeros((len(labels), k))
    members[np.arange(len(labels)), labels] = weights
    return np.ascontiguousarray(design.rmatvec(members).T), members.sum(axis=0)


def _rows(design: Design, picked: Any) -> Float64:
    """The values of some rows: products with columns of one 1, which lose nothing."""
    ones = np.zeros((design.shape[0], len(picked)))
    ones[picked, np.arange(len(picked))] = 1.0
    return np.ascontiguousarray(design.rmatvec(ones).T)


def _plus_plus(sample: Design, norms: Float64, weights: Float64, k: int, stream: Stream) -> Float64:
    """Greedy k-means++ (Arthur and Vassilvitskii 2007): of 2 + log k draws by squared distance the best is kept."""
    n, trials = sample.shape[0], 2 + int(np.log(k))
    draws = stream.uniform(k, trials, draw=8)

    def drawn(share: Float64, u: Float64) -> Int64:
        total = np.cumsum(share)
        return np.asarray(np.minimum(np.searchsorted(total, u * total[-1], side="right"), n - 1))

    first = drawn(weights, draws[0, :1])
    centres = np.empty((k, sample.shape[1]))
    centres[0] = _rows(sample, first)[0]
    closest = _squared(sample, centres[:1], norms)[:, 0]
    for j in range(1, k):
        share = weights * closest
        picked = drawn(share if share.any() else weights, draws[j])
        candidates = _rows(sample, picked)
        distances = np.minimum(_squared(sample, candidates, norms), closest[:, None])
        best = int((weights @ distances).argmin())
        centres[j], closest = candidates[best], distances[:, best]
    return centres
