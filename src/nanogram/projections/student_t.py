"""Independent Student t entries of unit variance: heavy tails, for studies of universality."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import checked_integer
from .base import Array, Drawn, DrawnRows, Numbers, Projection
from .counter import Stream

__all__ = ["StudentT"]


class StudentT(Projection):
    """Independent t entries times ``sqrt((df - 2) / df)``, hence of variance 1.

    The kurtosis is ``3 + 6 / (df - 4)`` for df above 4: 5 at df = 7. Stores the seed, costs p multiply-adds a feature.

    Parameters
    ----------
    df : int, default=7
        Degrees of freedom, at least 3 (the variance is infinite below).

    Examples
    --------
    >>> from nanogram.projections import StudentT
    >>> W = StudentT(df=7).draw(n_inputs=100, n_components=5000, seed=7).materialize()
    >>> bool(abs(W.var() - 1) < 0.02)
    True
    """

    name = "student_t"

    def __init__(self, df: int = 7) -> None:
        self.df = df

    def _draw(self, p: int, m: int, seed: int, cache_bytes: int) -> Drawn:
        checked_integer("df", self.df, 3, 1 << 20)
        return _DrawnStudentT(self, p, m, seed, cache_bytes)


class _DrawnStudentT(DrawnRows):
    law: StudentT
    _effort = 8

    def _block(self, rows: Numbers, columns: Numbers, dtype: np.dtype[Any]) -> Array:
        df = self.law.df
        t: Array = Stream(self.seed, "projection.student_t").student_t(rows, columns, df=df, dtype=np.float64)
        return np.asarray(t * np.sqrt((df - 2) / df), dtype=dtype)
