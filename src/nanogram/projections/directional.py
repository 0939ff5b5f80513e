"""Directions uniform on the sphere: the leverage-score law of arc-cosine features (NTK section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["Directional"]


class Directional(Projection):
    """Independent rows uniform on the sphere of radius ``sqrt(p)``: Gaussian rows, normalised.

    Entries of a row are uncorrelated but not independent, and bounded by ``sqrt(p)``; at p = 1 they are signs. Stores
    the seed, costs p multiply-adds a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Directional
    >>> W = Directional().draw(n_inputs=4, n_components=3, seed=7).materialize()
    >>> np.linalg.norm(W, axis=1)
    array([2., 2., 2.], dtype=float32)
    """

    name = "directional"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        return _DrawnDirectional(self, p, m, seed, cache_bytes)


class _DrawnDirectional(DrawnRows):
    _effort = 4

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        stream, p = Stream(self.seed, "projection.directional"), self.n_inputs
        whole = stream.normal(rows, p, dtype=np.float64)
        whole *= np.sqrt(p) / np.linalg.norm(whole, axis=1, keepdims=True)
        return np.asarray(whole[:, np.asarray(columns)], dtype=dtype)
