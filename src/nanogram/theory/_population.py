"""Eigenvalues of a kernel matrix, however it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

__all__ = ["dense_symmetric", "population_eigenvalues", "positive_integer"]

Floats = npt.NDArray[np.float64]

#: Operators are made dense up to this many rows (6.4 GB).
_MOST_ROWS = 28_000


def dense_symmetric(Phi: Any, name: str = "Phi") -> Floats:
    """A symmetric matrix as a float64 array; operators are applied to the identity, block by block."""
    if np.iscomplexobj(Phi) or (isinstance(Phi, LinearOperator) and np.dtype(Phi.dtype or float).kind == "c"):
        raise ValueError(f"{name} is complex; it must be real and symmetric")
    if isinstance(Phi, LinearOperator):
        n, columns = Phi.shape
        if n != columns:
            raise ValueError(f"{name} has shape {Phi.shape}; it must be square")
        if n > _MOST_ROWS:
            raise ValueError(f"{name} is an operator of {n} rows; up to {_MOST_ROWS} are made dense: pass eigenvalues")
        matrix = np.empty((n, n))
        for start in range(0, n, 256):
            stop = min(start + 256, n)
            unit = np.zeros((n, stop - start))
            unit[np.arange(start, stop), np.arange(stop - start)] = 1
            matrix[:, start:stop] = Phi @ unit
    else:
        matrix = np.asarray(Phi.toarray() if sp.issparse(Phi) else Phi, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"{name} has shape {matrix.shape}; it must be square")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} contains NaN or infinity")
    if np.abs(matrix - matrix.T).max() > 1e-6 * max(np.abs(matrix).max(), 1e-300):
        raise ValueError(f"{name} is not symmetric")
    return matrix


def positive_integer(name: str, value: Any) -> int:
    """A count: an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name}={value!r} must be a positive integer")
    return int(value)


def population_eigenvalues(Phi: Any) -> Floats:
    """Increasing eigenvalues of an array, an operator, or the vector of them."""
    if not isinstance(Phi, LinearOperator) and not sp.issparse(Phi) and np.ndim(Phi) == 1:
        if np.iscomplexobj(Phi):
            raise ValueError("Phi: eigenvalues are complex; they must be real")
        values = np.asarray(Phi, dtype=np.float64)
        if not len(values) or not np.isfinite(values).all():
            raise ValueError("Phi: eigenvalues must be finite, one or more of them")
        return np.sort(values)
    return np.asarray(np.linalg.eigvalsh(dense_symmetric(Phi)))
