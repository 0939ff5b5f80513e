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

from ._kmeans_steps import Patience, Run, assign, plus_plus, squared_distances, values_of

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
        run = Run(self._start(design, rows, norms, weights, seed), seed)
        self.n_iter_ = self.n_steps_ = 0
        told = {"X": X, "y": y, "sample_weight": sample_weight}
        with progress(self, int(self.max_iter), **told, step="epoch") as tick:
            batches = Batches(design, rows, int(self.batch_size))
            patience = Patience(self.max_no_improvement, len(rows))
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
        labels, distances = assign(design, run.centres, norms)
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
            run = Run(self._start(design, rows, norms, weights, seed), seed)
        else:
            run = Run(self.cluster_centers_.copy(), seed)
            run.counts = self._counts.copy()
        run.step(design, np.arange(n), norms, weights)
        self.n_steps_ += 1
        self.n_iter_ += 1
        self.cluster_centers_, self._counts = run.centres, run.counts
        labels, distances = assign(design, run.centres, norms)
        self.labels_ = labels.astype(np.int32)
        self.inertia_ = float(weights @ distances)
        return self

    def _polish(self, run: Run, design: Design, norms: Float64, weights: Float64) -> None:
        """Lloyd's passes over all rows."""
        last: Int64 | None = None
        for _ in range(int(self.n_polish)):
            labels, distances = assign(design, run.centres, norms)
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
                centres = values_of(sample, picked)
            else:
                centres = plus_plus(sample, norms[ids], weights[ids], k, stream)
            inertia = float(weights[ids] @ assign(sample, centres, norms[ids])[1]) / size if tries > 1 else 0.0
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
        return np.sqrt(squared_distances(design, self.cluster_centers_, design.squared_row_norms()))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Less the (weighted) sum of squared distances to the nearest centre."""
        del y
        distances = self._nearest(X)[1]
        weights = checked_weights(sample_weight, len(distances))
        return -float(distances.sum() if weights is None else weights @ distances)

    def _nearest(self, X: Any) -> tuple[Int64, Float64]:
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        return assign(design, self.cluster_centers_, design.squared_row_norms())

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
