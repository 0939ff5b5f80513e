"""`Design`: what solvers see of a matrix of features. Products, a Gram matrix, rows; never the storage.

One subclass a kind of matrix: packed codes, dense arrays, sparse arrays. Codes that are encoded anew in each pass
(`nanogram.streamed`) are another. Solvers ask for what they need and hold nothing but vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, validate_data

from nanogram._code_matrix.blocks import decoded_rows, row_ranges
from nanogram.code_matrix import CodeMatrix
from nanogram.ops.reference import LEAST_DIGITS, Precision

__all__ = ["ArrayDesign", "CodesDesign", "Design", "as_design", "checked_weights", "read_features"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
#: Rows of floats that are added to a Gram matrix at a time, at the least, and columns of a panel of it.
GRAM_ROWS, GRAM_PANEL = 512, 512
#: Makes, from the products ``Z[rows] @ V`` of the rows named, what ``Z[rows].T`` is to be multiplied by.
Between = Callable[[slice, Float64], Float64]


class Design(ABC):
    """A matrix Z of n rows and m columns behind its products.

    All products take and return float64, vectors of shape (m,) or (n,), or several side by side. ``precision`` is
    that of packed codes (`CodeMatrix`); floats are multiplied in their own precision.
    """

    shape: tuple[int, int]
    #: Whether a pass over the rows costs an encoding, so that solvers should save passes.
    streamed: bool = False

    @abstractmethod
    def matvec(self, V: Float64, precision: Precision = "float32") -> Float64:
        """``Z V``."""

    @abstractmethod
    def rmatvec(self, R: Float64, precision: Precision = "float32") -> Float64:
        """``Z^T R``."""

    def there_and_back(self, V: Float64, between: Between, precision: Precision = "float32") -> Float64:
        """``Z^T between(Z V)`` in one pass over the rows: gradients and Hessian products.

        ``between`` is called with slices of rows that make up all rows, in order, and with their products.
        """
        return self.rmatvec(between(slice(0, self.shape[0]), self.matvec(V, precision)), precision)

    @abstractmethod
    def gram(self, weights: Float64 | None = None, dtype: npt.DTypeLike = np.float64) -> Array:
        """``Z^T diag(weights) Z``, (m, m), in float64 or float32."""

    @abstractmethod
    def kernel(self) -> Float64:
        """``Z Z^T``, (n, n)."""

    @abstractmethod
    def squared_row_norms(self) -> Float64:
        """Sum of squares of each row, (n,)."""

    @abstractmethod
    def rows(self, index: Any) -> Design:
        """The rows that an index array or slice picks, in that order."""

    def column_sums(self, weights: Float64 | None = None) -> Float64:
        """``Z^T weights``; plain sums without weights."""
        return self.rmatvec(np.ones(self.shape[0]) if weights is None else weights)

    def precise_matvec(self, V: Float64) -> Float64:
        """``Z V`` to about 1e-13 of ``|Z| |V|``, at the price of twice the columns."""
        return _in_two_parts(self.matvec, V)

    def precise_rmatvec(self, R: Float64) -> Float64:
        """``Z^T R`` to about 1e-13 of ``|Z| |R|``, at the price of twice the columns."""
        return _in_two_parts(self.rmatvec, R)

    def scatter(self, weights: Float64 | None, means: Float64, dtype: npt.DTypeLike = np.float64) -> Array:
        """``(Z - 1 means^T)^T diag(weights) (Z - 1 means^T)``, means the weighted ones of the columns, in one array.

        Here from the Gram matrix: ``Z^T W Z - w means means^T``, w the sum of weights.
        """
        total = float(self.shape[0]) if weights is None else float(weights.sum())
        G = self.gram(weights, dtype)
        if means.any():
            for start, stop in row_ranges(*G.shape):
                G[start:stop] -= np.multiply.outer(total * means[start:stop], means)
        return G


def _in_two_parts(multiply: Callable[[Float64, Precision], Float64], V: Float64) -> Float64:
    """The product with V as that with V's leading digits, which are exact, and with the rest of it.

    A right-hand side on the grid that `nanogram.ops` rounds to (`nanogram.ops.reference.quantise`) loses nothing.
    """
    columns = V if V.ndim == 2 else V[:, None]
    limit = 127.0 * 256.0 ** (LEAST_DIGITS["float32"] - 1)
    largest = np.abs(columns).max(axis=0, initial=0.0)
    step = np.where(largest < 1e-280, 1.0, largest) / limit
    leading = np.rint(columns / step) * step
    product = multiply(np.hstack([leading, columns - leading]), "float32")
    result = product[:, : columns.shape[1]] + product[:, columns.shape[1] :]
    return result if V.ndim == 2 else result[:, 0]


def _add_gram(out: Array, block: Array, weights: Float64 | None) -> None:
    """Add ``block^T diag(weights) block`` to the upper triangle, panel by panel: no second (m, m) array."""
    right = block if weights is None else block * weights[:, None].astype(block.dtype)
    for start in range(0, len(out), GRAM_PANEL):
        panel = slice(start, start + GRAM_PANEL)
        out[panel, start:] += block[:, panel].T @ right[:, start:]


def mirrored(A: Array) -> Array:
    """The array with its upper triangle copied over the lower one, in place."""
    for i in range(0, len(A), GRAM_PANEL):
        rows = slice(i, i + GRAM_PANEL)
        A[rows, :i] = A[:i, rows].T
        square = A[rows, rows]
        lower = np.tril_indices(len(square), -1)
        square[lower] = square.T[lower]
    return A


class CodesDesign(Design):
    """Packed codes."""

    def __init__(self, Z: CodeMatrix) -> None:
        self.Z, self.shape = Z, Z.shape

    def matvec(self, V: Float64, precision: Precision = "float32") -> Float64:
        """``Z V``."""
        return np.asarray(self.Z.matvec(np.asarray(V, dtype=np.float64), precision))

    def rmatvec(self, R: Float64, precision: Precision = "float32") -> Float64:
        """``Z^T R``."""
        return np.asarray(self.Z.rmatvec(np.asarray(R, dtype=np.float64), precision))

    def gram(self, weights: Float64 | None = None, dtype: npt.DTypeLike = np.float64) -> Array:
        """``Z^T diag(weights) Z``: exact sums of integers; with weights, or of floats, multiplied in this precision."""
        if weights is None and self.Z.code.layout is not None:
            return np.asarray(self.Z.gram(None, dtype))
        n, m = self.shape
        out = np.zeros((m, m), dtype)
        for start, stop in row_ranges(n, m, least=min(m, GRAM_ROWS)):
            block = decoded_rows(self.Z, start, stop).astype(dtype, copy=False)
            _add_gram(out, block, None if weights is None else weights[start:stop])
        return mirrored(out)

    def kernel(self) -> Float64:
        """``Z Z^T``, from exact sums of integers; of floats in double."""
        if self.Z.code.layout is not None:
            return np.asarray(self.Z.kernel())
        n, m = self.shape
        out = np.zeros((n, n))
        for start in range(0, m, GRAM_ROWS):
            _add_gram(out, self.Z.storage[:, start : start + GRAM_ROWS].T.astype(np.float64), None)
        return mirrored(out)

    def squared_row_norms(self) -> Float64:
        """Sum of squares of each row."""
        return self.Z.squared_row_norms()

    def rows(self, index: Any) -> CodesDesign:
        """Rows, still packed."""
        return CodesDesign(self.Z[index])

    def column_sums(self, weights: Float64 | None = None) -> Float64:
        """``Z^T weights``; plain sums are exact."""
        return self.Z.column_sums() if weights is None else self.rmatvec(weights)


class ArrayDesign(Design):
    """A dense array or a csr array of float32 or float64; everything is computed in double, block by block."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, X.shape

    def _blocks(self, doubles: int = 2) -> Iterator[tuple[slice, Any]]:
        """Blocks of rows in double; one block, nothing copied, where X is sparse or of doubles."""
        if sp.issparse(self.X) or self.X.dtype == np.float64:
            yield slice(0, self.shape[0]), self.X.astype(np.float64, copy=False)
            return
        for start, stop in row_ranges(self.shape[0], doubles * self.shape[1], least=64):
            yield slice(start, stop), self.X[start:stop].astype(np.float64)

    def matvec(self, V: Float64, precision: Precision = "float32") -> Float64:
        """``X V``."""
        del precision
        out = np.empty((self.shape[0], *V.shape[1:]))
        for rows, block in self._blocks():
            out[rows] = block @ V
        return out

    def rmatvec(self, R: Float64, precision: Precision = "float32") -> Float64:
        """``X^T R``."""
        del precision
        out = np.zeros((self.shape[1], *R.shape[1:]))
        for rows, block in self._blocks():
            out += block.T @ R[rows]
        return out

    precise_matvec = matvec
    precise_rmatvec = rmatvec

    def gram(self, weights: Float64 | None = None, dtype: npt.DTypeLike = np.float64) -> Array:
        """``X^T diag(weights) X``, multiplied in this precision."""
        return self._gram(weights, np.zeros(self.shape[1]), dtype)

    def scatter(self, weights: Float64 | None, means: Float64, dtype: npt.DTypeLike = np.float64) -> Array:
        """The Gram matrix of dense rows less their means, so that large means cost no digits; sparse: as of any."""
        if sp.issparse(self.X):
            return super().scatter(weights, means, dtype)
        return self._gram(weights, means, dtype)

    def _gram(self, weights: Float64 | None, means: Float64, dtype: npt.DTypeLike) -> Array:
        if sp.issparse(self.X):
            X = self.X.astype(dtype, copy=False)
            left = X if weights is None else sp.csr_array(X.multiply(weights[:, None].astype(dtype)))
            return np.asarray((left.T @ X).toarray())
        n, m = self.shape
        out = np.zeros((m, m), dtype)
        for start, stop in row_ranges(n, 2 * m, least=min(m, GRAM_ROWS)):
            block = (self.X[start:stop] - means).astype(dtype, copy=False)
            _add_gram(out, block, None if weights is None else weights[start:stop])
        return mirrored(out)

    def kernel(self) -> Float64:
        """``X X^T`` in double."""
        X = self.X.astype(np.float64, copy=False)
        product = X @ X.T
        return np.asarray(product.toarray() if sp.issparse(product) else product)

    def squared_row_norms(self) -> Float64:
        """Sum of squares of each row."""
        X = self.X
        squares = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()

    def rows(self, index: Any) -> ArrayDesign:
        """Rows of the same kind."""
        return ArrayDesign(self.X[index])


def as_design(X: Any) -> Design:
    """A `Design` from a `CodeMatrix`, an array or a sparse array that has been checked; a Design is returned as is."""
    if isinstance(X, Design):
        return X
    if isinstance(X, CodeMatrix):
        return CodesDesign(X)
    return ArrayDesign(sp.csr_array(X) if sp.issparse(X) else X)


def read_features(estimator: Any, X: Any, *, reset: bool) -> Design:
    """The features of an estimator's fit (``reset``) or predict, checked as scikit-learn does; y is checked elsewhere.

    A `CodeMatrix` (or a `Design`, streamed codes for one) has no NaN to look for and is never touched.
    """
    if isinstance(X, CodeMatrix | Design):
        n, m = X.shape
        if n == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if m == 0:
            raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        return as_design(X)
    checked = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=False
    )
    return as_design(checked)


def checked_weights(sample_weight: Any, n_rows: int) -> Float64 | None:
    """Weights of rows as float64, None where all are equal to begin with; negative ones and a zero sum are refused."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, np.empty((n_rows, 0)), dtype=np.float64, allow_all_zero_weights=True)
    if (weights < 0).any():
        bad = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(f"sample_weight[{bad}] is {weights[bad]}; weights of at least 0 are accepted")
    if not weights.any():
        raise ValueError("sample_weight sums to zero. Sample weights must contain at least one non-zero number.")
    return np.asarray(weights)
