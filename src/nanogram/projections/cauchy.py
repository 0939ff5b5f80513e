"""Independent Cauchy entries: the random features of the Laplacian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["Cauchy"]


class Cauchy(Projection):
    """Independent standard Cauchy entries, which have neither mean nor variance.

    ``E[cos(w @ (x - y))] = exp(-|x - y|_1)``, the Laplacian kernel of rows scaled by gamma. Stores the seed, costs p
    multiply-adds a feature. Codes designed from Gaussian moments do not apply.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.projections import Cauchy
    >>> W = Cauchy().draw(n_inputs=2, n_components=200_000, seed=7).materialize()
    >>> x = np.array([0.3, -0.2])
    >>> bool(abs(np.cos(W @ x).mean() - np.exp(-0.5)) < 0.005)
    True
    """

    name = "cauchy"
    entry_mean = None
    entry_variance = None

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        return _DrawnCauchy(self, p, m, seed, cache_bytes)


class _DrawnCauchy(DrawnRows):
    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        return Stream(self.seed, "projection.cauchy").cauchy(rows, columns, dtype=dtype)
