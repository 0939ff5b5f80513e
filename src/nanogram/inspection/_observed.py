"""Kernels that displays compare: that of a fitted feature map's codes, and the exact one that it approaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from nanogram._bandwidth import row_scale
from nanogram.activations import Activation, make_activation
from nanogram.codes import FloatCode
from nanogram.theory.kernel_error import centred
from nanogram.theory.mixture_statistics import checked_rows

__all__ = ["checked_kernel", "features_of", "kernel_of_map"]

Floats = npt.NDArray[np.float64]


def features_of(estimator: Any, X: Any) -> tuple[Floats, int]:
    """(G, m): P Z Z^T P of a fitted map's features Z, and how many columns Z has."""
    if not hasattr(estimator, "transform"):
        raise TypeError(f"estimator={estimator!r} has no transform; a fitted feature map is needed")
    check_is_fitted(estimator)
    Z = estimator.transform(X)
    gram = Z.kernel() if hasattr(Z, "kernel") else np.asarray(Z, dtype=np.float64) @ np.asarray(Z, dtype=np.float64).T
    return centred(np.asarray(gram, dtype=np.float64)), int(Z.shape[1])


def kernel_of_map(estimator: Any, X: Any) -> Floats:
    """P K P, K the exact kernel E[Z Z^T] of a `FeatureMap` or `TernaryFeatures` at the rows it was fitted to.

    For activations in floats, and for designed step codes; other codes add rounding noise that no closed form here
    has, and features that come in pairs of one projection are not independent columns.
    """
    design = getattr(estimator, "design_", None)
    if design is not None:
        activation: Activation = design.as_activation()
    elif isinstance(getattr(estimator, "code_", None), FloatCode) and hasattr(estimator, "activation"):
        activation = make_activation(estimator.activation)
    else:
        raise ValueError(
            f"the exact kernel of {estimator!r} has no closed form here (features in floats and designed step codes "
            "have one); pass kernel=, the matrix that Z Z^T approaches"
        )
    if activation.n_outputs != 1:
        raise ValueError(
            f"{activation!r} gives {activation.n_outputs} columns a projection, and the limiting law is of independent "
            "columns; use a map of one column a projection ('cos_phase' has the same kernel as 'cos_sin')"
        )
    rows = checked_rows(X)
    if getattr(estimator, "center", True):
        rows = rows - rows.mean(axis=0)
    rows = rows * row_scale(estimator.gamma_)
    squares = np.einsum("ij,ij->i", rows, rows)
    kernel = activation.kernel_from_dots(squares, rows @ rows.T, squares)
    kernel[np.diag_indices_from(kernel)] = activation.second_moment(squares)
    return centred(kernel)


def checked_kernel(name: str, kernel: Any, n: int | None = None) -> Floats:
    """A symmetric n x n array in float64, centred."""
    if np.iscomplexobj(kernel):
        raise ValueError(f"{name} is complex; it must be real and symmetric")
    values = np.asarray(kernel.toarray() if hasattr(kernel, "toarray") else kernel, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or (n is not None and len(values) != n):
        wanted = "square" if n is None else f"({n}, {n})"
        raise ValueError(f"{name} has shape {values.shape}, must be {wanted}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity")
    if np.abs(values - values.T).max(initial=0.0) > 1e-6 * max(float(np.abs(values).max(initial=0.0)), 1e-300):
        raise ValueError(f"{name} is not symmetric")
    return centred(values)
