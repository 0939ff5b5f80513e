"""Independent standard normal entries: the random features of the Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["Gaussian"]


class Gaussian(Projection):
    """Independent N(0, 1) entries; stores the seed, costs p multiply-adds a feature.

    Examples
    --------
    >>> from nanogram.projections import Gaussian
    >>> Gaussian().draw(n_inputs=2, n_components=3, seed=7).materialize().shape
    (3, 2)
    """

    name = "gaussian"

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        return _DrawnGaussian(self, p, m, seed, cache_bytes)


class _DrawnGaussian(DrawnRows):
    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        return Stream(self.seed, "projection.gaussian").normal(rows, columns, dtype=dtype)
