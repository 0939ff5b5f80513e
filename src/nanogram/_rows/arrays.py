"""Rows in arrays: NumPy (memory maps among them), SciPy sparse, and what turns into them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram._rows.base import RandomAccessSource
from nanogram._rows.convert import Raw, csr_rows

__all__ = ["ArraySource", "SparseSource", "array_of", "check_columns"]


class ArraySource(RandomAccessSource):
    """Rows of a 2-D array of any number type, strides or byte order; never copied as a whole."""

    def __init__(self, X: npt.NDArray[Any], feature_names: tuple[str, ...] | None = None) -> None:
        check_matrix(X.shape, X.dtype)
        self._array = X
        self.n_rows, self.n_columns = X.shape
        self.dtype = X.dtype
        self.feature_names = feature_names

    def _rows(self, which: slice | npt.NDArray[np.int64]) -> Raw:
        return self._array[which]


class SparseSource(RandomAccessSource):
    """Rows of a SciPy sparse matrix or array; formats other than csr are converted once, without densifying."""

    is_sparse = True

    def __init__(self, X: Any, feature_names: tuple[str, ...] | None = None) -> None:
        check_matrix(X.shape, X.dtype)
        if X.format in ("csc", "bsr"):
            # SciPy converts these trusting their indices; those of csr are looked at block by block (csr_rows).
            X.check_format(full_check=True)
        self._matrix = sp.csr_array(X)
        self.n_rows, self.n_columns = X.shape
        self.dtype = self._matrix.dtype
        self.mean_entries = self._matrix.nnz / max(1, self._matrix.shape[0])
        self.feature_names = feature_names

    def _rows(self, which: slice | npt.NDArray[np.int64]) -> Raw:
        return csr_rows(self._matrix, which)


def check_columns(n_rows: int | None, n_columns: int) -> None:
    """Refuse rows without columns, in the words scikit-learn's own checks look for."""
    if n_columns < 1:
        shape = f"({0 if n_rows is None else n_rows}, 0)"
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is not a matrix of real numbers."""
    if len(shape) != 2:
        hint = ""
        if len(shape) == 1:
            hint = (
                ". Reshape your data either using array.reshape(-1, 1) if it has a single feature or "
                "array.reshape(1, -1) if it contains a single sample."
            )
        raise ValueError(f"Expected 2D array, got {len(shape)}D array instead (shape={shape}){hint}")
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {dtype}")
    if dtype.kind not in "biufO":
        raise ValueError(f"X has dtype {dtype}: rows must be numbers or booleans")
    check_columns(*shape)


def array_of(X: Any) -> npt.NDArray[Any]:
    """An ndarray of nested sequences or of anything that offers itself as an array, without copying the latter."""
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.is_masked(X):
            raise ValueError("X is a masked array with masked values: fill them first, X.filled(value)")
        return np.asarray(X.data)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X of type {type(X).__name__} is not a matrix, its rows differ in length: {error}") from error
    if isinstance(X, list | tuple) and array.ndim == 3:
        raise ValueError(f"X is a {type(X).__name__} of {len(X)} matrices: pass it to RowSource parts, from_parts(X)")
    return array
