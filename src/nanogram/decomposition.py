r"""`CodePCA`: principal components of packed codes, which are kernel principal components of the rows behind them.

With rows z_i of features and their mean c, the covariance is ``(Z - 1 c^T)^T (Z - 1 c^T) / (n - 1)``. It comes from the
exact Gram matrix of the features or of the rows, whichever is smaller, or its leading subspace from products alone. In
all ways the codes are centred implicitly, and where they are random features of a kernel the scores are those of
kernel PCA with the approximated kernel.
"""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from .linear_model._design import Design, read_features
from .projections import Stream, seed_from

__all__ = ["CodePCA"]

Float64 = npt.NDArray[np.float64]
#: Up to so many features or rows the Gram matrix is cheap whatever is wanted of it.
SMALL = 2000
#: Singular values below this share of the largest are rounding where they come from a Gram matrix.
RANK = 1e-7
MOST_ITERATIONS = 30


class CodePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components of packed codes, dense or sparse arrays, without unpacking or centring them.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Components; between 0 and 1: the fewest that explain more than this share of the variance; None: all,
        ``min(n, m)``.
    whiten : bool, default=False
        Scores of variance 1.
    svd_solver : {"auto", "gram", "randomized"}, default="auto"
        ``"gram"``: eigenvectors of the (m, m) covariance or the (n, n) kernel matrix, the smaller one;
        ``"randomized"``: subspace iterations. ``"auto"``: randomized where the matrix is larger than 2,000 and less
        than a fifth of its eigenvectors are wanted.
    n_oversamples : int, default=10
        Further dimensions of the randomized subspace.
    iterated_power : int or "auto", default="auto"
        Passes over the codes of the randomized solver; "auto": until the singular values change by less than ``tol``
        relative to the largest, 30 at most.
    tol : float, default=1e-5
    random_state : int, RandomState or None, default=None
        Of the randomized solver.

    Attributes
    ----------
    components_ : array of shape (n_components, m)
        Orthonormal rows, by falling variance; the entry of largest magnitude of each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : arrays of shape (n_components,)
    mean_ : array of shape (m,)
    noise_variance_ : float
        Mean variance of the directions left out.
    n_components_ : int
    n_samples_ : int
    svd_solver_ : str
        The solver used.
    n_iter_ : int
        Passes of the randomized solver; 0 for ``"gram"``.
    n_features_in_ : int
    feature_names_in_ : array of shape (m,), where X has names

    Notes
    -----
    From a Gram matrix, singular values below 1e-7 of the largest cannot be told from 0. They are given as computed,
    and directions without variance are completed to an orthonormal set.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import TernaryFeatures
    >>> from nanogram.decomposition import CodePCA
    >>> X = np.random.default_rng(0).standard_normal((500, 8))
    >>> Z = TernaryFeatures(1024, random_state=0).fit_transform(X)
    >>> pca = CodePCA(n_components=8).fit(Z)
    >>> pca.transform(Z).shape, bool(pca.explained_variance_ratio_.sum() > 0.3)
    ((500, 8), True)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        whiten: bool = False,
        svd_solver: str = "auto",
        n_oversamples: int = 10,
        iterated_power: int | str = "auto",
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.n_oversamples = n_oversamples
        self.iterated_power = iterated_power
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of features X (n, m).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
            At least two rows.
        y : None
            Ignored.
        """
        del y
        design = read_features(self, X, reset=True)
        n, m = design.shape
        if n < 2:
            raise ValueError(f"n_samples={n}: CodePCA needs at least 2 rows")
        wanted = self._wanted(min(n, m))
        solver = self._solver(wanted, min(n, m))
        self.mean_ = design.column_sums() / n
        if solver == "gram":
            squares, components, total = self._from_gram(design, wanted)
            self.n_iter_ = 0
        else:
            assert isinstance(wanted, int), "shares of the variance go to the Gram matrix"
            squares, components = self._from_products(design, wanted)
            total = float(design.squared_row_norms().sum()) - n * float(self.mean_ @ self.mean_)
            total = max(total, float(squares.sum()))
        self._publish(squares, components, total, design.shape, wanted)
        self.svd_solver_ = solver
        return self

    def _wanted(self, most: int) -> int | float:
        """Number of components, or the share of variance they explain."""
        wanted = self.n_components
        if wanted is None:
            return most
        if isinstance(wanted, numbers.Integral) and not isinstance(wanted, bool):
            if not 1 <= wanted <= most:
                raise ValueError(f"n_components={wanted!r} is not accepted; 1 to min(n_samples, n_features)={most} are")
            return int(wanted)
        if isinstance(wanted, numbers.Real) and not isinstance(wanted, bool) and 0 < wanted < 1:
            return float(wanted)
        raise ValueError(f"n_components={wanted!r} is not accepted; None, an integer or a number between 0 and 1 is")

    def _solver(self, wanted: int | float, most: int) -> str:
        if self.svd_solver not in ("auto", "gram", "randomized"):
            raise ValueError(f"svd_solver={self.svd_solver!r} is not known; 'auto', 'gram' and 'randomized' are")
        if not isinstance(self.n_oversamples, numbers.Integral) or self.n_oversamples < 1:
            raise ValueError(f"n_oversamples={self.n_oversamples!r} is not accepted; an integer of at least 1 is")
        if self.iterated_power != "auto" and not (
            isinstance(self.iterated_power, numbers.Integral) and self.iterated_power >= 0
        ):
            raise ValueError(f"iterated_power={self.iterated_power!r} is not accepted; 'auto' or at least 0 is")
        if not (isinstance(self.tol, numbers.Real) and self.tol > 0):
            raise ValueError(f"tol={self.tol!r} is not accepted; a number above 0 is")
        if isinstance(wanted, float):
            if self.svd_solver == "randomized":
                raise ValueError(
                    f"n_components={wanted} asks for a share of the variance, which needs svd_solver='gram'"
                )
            return "gram"
        if self.svd_solver != "auto":
            return str(self.svd_solver)
        return "randomized" if most > SMALL and wanted < 0.2 * most else "gram"

    # ------------------------------------------------------------------ solvers

    def _from_gram(self, design: Design, wanted: int | float) -> tuple[Float64, Float64, float]:
        """Squared singular values and components, from the smaller of the two matrices, and its trace."""
        n, m = design.shape
        if m <= n:
            G = design.scatter(None, self.mean_)
            total = float(np.trace(G))
            values, vectors = _leading(G, wanted)
            return values, np.ascontiguousarray(vectors.T), total
        K = design.kernel()
        # Centred twice, in double: K - 1 k^T - k 1^T + mean, k the means of the columns.
        means = K.mean(axis=0)
        K -= means
        K -= (means - means.mean())[:, None]
        total = float(np.trace(K))
        values, U = _leading(K, wanted)
        kept = values > (RANK**2) * max(float(values[0]), 1e-300)
        components = np.zeros((len(values), m))
        if kept.any():
            back = design.precise_rmatvec(np.ascontiguousarray(U[:, kept]))
            back -= np.multiply.outer(self.mean_, U[:, kept].sum(axis=0))
            components[kept] = (back / np.sqrt(values[kept])).T
        return values, _orthonormal(components, kept), total

    def _from_products(self, design: Design, k: int) -> tuple[Float64, Float64]:
        """The same by subspace iteration (Halko, Martinsson and Tropp 2011), one pass over the codes a step."""
        n, m = design.shape
        size = min(k + int(self.n_oversamples), n, m)
        V = Stream(seed_from(self.random_state), "pca.start").normal(m, size).astype(np.float64)
        V = np.linalg.qr(V)[0]
        last = np.zeros(k)
        auto = isinstance(self.iterated_power, str)
        most = MOST_ITERATIONS if auto else int(self.iterated_power)
        self.n_iter_ = 0
        for _ in range(most):
            V, R = np.linalg.qr(self._there_and_back(design, V))
            self.n_iter_ += 1
            now = np.sqrt(np.linalg.svd(R, compute_uv=False)[:k])
            if auto and float(np.abs(now - last).max()) <= float(self.tol) * max(float(now[0]), 1e-300):
                break
            last = now
        Y = design.matvec(V) - self.mean_ @ V
        _, s, Wt = np.linalg.svd(np.linalg.qr(Y, mode="r"), full_matrices=False)
        s, components = s[:k], (Wt @ V.T)[:k]
        return s * s, np.ascontiguousarray(components)

    def _there_and_back(self, design: Design, V: Float64) -> Float64:
        """``(Z - 1 c^T)^T (Z - 1 c^T) V`` in one pass."""
        shift = self.mean_ @ V
        sums = np.zeros(V.shape[1])

        def between(rows: slice, product: Float64) -> Float64:
            del rows
            product -= shift
            sums[:] += product.sum(axis=0)
            return product

        out = design.there_and_back(V, between)
        out -= np.multiply.outer(self.mean_, sums)
        return out

    def _publish(
        self, squares: Float64, components: Float64, total: float, shape: tuple[int, int], wanted: int | float
    ) -> None:
        n, m = shape
        squares = np.maximum(squares, 0.0)
        ratio = squares / total if total > 0 else np.zeros_like(squares)
        if isinstance(wanted, float):
            k = min(int(np.searchsorted(np.cumsum(ratio), wanted, side="right")) + 1, len(squares))
            squares, components, ratio = squares[:k], components[:k], ratio[:k]
        largest = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
        components = components * np.where(largest < 0, -1.0, 1.0)[:, None]
        self.components_ = components
        self.n_components_ = len(components)
        self.n_samples_ = n
        self.singular_values_ = np.sqrt(squares)
        self.explained_variance_ = squares / (n - 1)
        self.explained_variance_ratio_ = ratio
        left = min(n, m) - self.n_components_
        rest = max(total - float(squares.sum()), 0.0) / (n - 1)
        self.noise_variance_ = rest / left if left else 0.0

    # ------------------------------------------------------------------ use

    def transform(self, X: Any) -> Float64:
        """Scores, (n, n_components).

        Parameters
        ----------
        X : CodeMatrix, array, sparse array or Design
        """
        check_is_fitted(self)
        design = read_features(self, X, reset=False)
        scores = design.matvec(np.ascontiguousarray(self.components_.T)) - self.components_ @ self.mean_
        if self.whiten:
            scores /= self._deviations()
        return np.asarray(scores)

    def inverse_transform(self, X: Any) -> Float64:
        """Features (n, m), as numbers, whose scores these are.

        Parameters
        ----------
        X : array of shape (n, n_components)
        """
        check_is_fitted(self)
        scores = check_array(X, dtype=np.float64)
        if scores.shape[1] != self.n_components_:
            raise ValueError(f"X has {scores.shape[1]} columns; scores have n_components_={self.n_components_}")
        if self.whiten:
            scores = scores * self._deviations()
        return np.asarray(scores @ self.components_ + self.mean_)

    def _deviations(self) -> Float64:
        """Standard deviations of scores; 0 is taken for the smallest positive number that does no harm."""
        return np.maximum(np.sqrt(self.explained_variance_), np.finfo(np.float64).eps)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _leading(A: Float64, wanted: int | float) -> tuple[Float64, Float64]:
    """Eigenvalues of a symmetric matrix, which is lost, and eigenvectors in columns, the largest first."""
    m = len(A)
    subset = (m - wanted, m - 1) if isinstance(wanted, int) and wanted < m else None
    values, vectors = linalg.eigh(A, subset_by_index=subset, overwrite_a=True, check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _orthonormal(components: Float64, kept: npt.NDArray[np.bool_]) -> Float64:
    """Rows made orthonormal to rounding; those that are not kept are completed."""
    missing = int(np.count_nonzero(~kept))
    if missing:
        fill = Stream(0, "pca.completion").normal(missing, components.shape[1]).astype(np.float64)
        known = components[kept]
        for _ in range(2):
            fill -= (fill @ known.T) @ known
        components[~kept] = np.linalg.qr(fill.T)[0].T
    return components
