"""What stochastic gradients minimise, seen batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram import ops
from nanogram._code_matrix.blocks import centred
from nanogram.ops.reference import Precision

from ._batches import Batch
from ._design import CodesDesign, Design
from ._rates import sample_rows
from .losses import Loss, Poisson

__all__ = ["Problem", "mean_loss"]

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


class Problem:
    """The objective on some rows of a design, seen batch by batch.

    Parameters
    ----------
    design : Design
    loss, y, k
        As in `nanogram.linear_model._objective.Objective`.
    weights : array (n,) or None
    penalty : float
    fit_intercept : bool
    rows : array of int64 or None
        Training rows, ascending; None: all.
    backward : Design or None
        The same rows rounded independently. Gradients then take raw predictions from ``design`` and are multiplied
        back with these (double sampling, LP D.7.3).
    centre : array (m,) or None
        c; None estimates it where there is an intercept.
    """

    def __init__(
        self,
        design: Design,
        loss: Loss,
        y: Array,
        k: int,
        *,
        weights: Float64 | None = None,
        penalty: float = 0.0,
        fit_intercept: bool = True,
        rows: Int64 | None = None,
        backward: Design | None = None,
        centre: Float64 | None = None,
        seed: int = 0,
    ) -> None:
        n = design.shape[0]
        rows = np.arange(n) if rows is None else rows
        if weights is not None:
            rows = rows[weights[rows] > 0]
            if not len(rows):
                raise ValueError("the weights of the training rows sum to zero: no row counts")
            weights = weights / weights[rows].mean()
        if backward is not None and backward.shape != design.shape:
            raise ValueError(f"the second codes have shape {backward.shape}; those of the first, {design.shape}, match")
        self.design, self.backward, self.loss, self.y, self.k = design, backward, loss, y, k
        self.weights, self.penalty, self.fit_intercept, self.rows = weights, penalty, fit_intercept, rows
        self.products = Products(design)
        self.sample = sample_rows(design, rows, seed)
        self.spread = 1.0
        if centre is None and fit_intercept:
            centre = self.sample.design.column_sums() / len(self.sample.ids)
        self.centre = centre if fit_intercept and centre is not None and centre.any() else None

    def raw(self, batch: Batch, W: Float64, b: Float64, precision: Precision = "fast") -> Float64:
        """Raw predictions of a batch's rows."""
        raw = self.products.matvec(batch, W, precision)
        if self.fit_intercept:
            raw += self.intercept(W, b)
        return raw

    def back(self, batch: Batch, R: Float64, sums: Float64) -> Float64:
        """``(Z - 1 c^T)^T R``; ``sums`` are those of R's columns."""
        G = self.products.rmatvec(batch, R)
        if self.centre is not None:
            for j in range(self.k):
                G[:, j] -= sums[j] * self.centre
        return G

    def residuals(self, batch: Batch, raw: Float64) -> Float64:
        """dl/df of a batch's rows over their number, 0 for rows that do not count."""
        ids, live = batch.ids, None
        if batch.n_rows < len(ids):
            live = ids >= 0
            ids, raw = ids[live], raw[live]
        part = self.loss.gradient(self.y[ids], raw)
        if self.weights is None:
            part *= 1.0 / batch.n_rows
        else:
            part *= (self.weights[ids] / batch.n_rows)[:, None]
        if live is None:
            return part
        full = np.zeros((len(live), self.k))
        full[live] = part
        return full

    def mean_loss(self, raw: Float64) -> float:
        """Mean loss of the training rows, from raw predictions of all rows."""
        return mean_loss(
            self.loss, self.y[self.rows], raw[self.rows], None if self.weights is None else self.weights[self.rows]
        )

    def objective(self, W: Float64, b: Float64) -> float:
        """F on the training rows: one pass."""
        raw = self.design.matvec(W, "float32")
        if self.fit_intercept:
            raw += self.intercept(W, b)
        return self.mean_loss(raw) + 0.5 * self.penalty * float(np.vdot(W, W))

    def forget(self) -> None:
        """Let go of rows and targets; what is left can go on with others."""
        del self.design, self.backward, self.y, self.weights, self.rows, self.products, self.sample

    def intercept(self, W: Float64, b: Float64) -> Float64:
        """Intercepts for rows that are not centred."""
        # Not by BLAS: its threads go on spinning after a call and slow down the products that follow.
        return b if self.centre is None else b - np.einsum("i,ij->j", self.centre, W)


class Products:
    """Products with batches, at the least cost a call: what a code's decoder says is looked up once, not each time."""

    def __init__(self, design: Design) -> None:
        self.packed = isinstance(design, CodesDesign) and design.Z.code.layout is not None
        if self.packed:
            code = design.Z.code  # type: ignore[attr-defined]  # packed says that it is a CodesDesign
            self.layout, self.table, self.m = ops.get_layout(code.layout), code.table, design.shape[1]
            self.zero2, self.scale, self.offset = (
                (0, np.ones(()), np.zeros(())) if self.table is not None else centred(code)
            )

    def matvec(self, batch: Batch, V: Float64, precision: Precision = "fast") -> Float64:
        """``Z V``."""
        if batch.words is None or not self.packed:
            return batch.design.matvec(V, precision)
        shape, scale, offset = (len(batch.ids), self.m), self.scale, self.offset
        weighted = V if scale.ndim == 0 else V * scale[:, None]
        result = ops.matmul(
            batch.words, self.layout, shape, weighted, zero2=self.zero2, table=self.table, precision=precision
        )
        if scale.ndim == 0:
            result *= scale
        if offset.any():
            result += (V * (offset if offset.ndim == 0 else offset[:, None])).sum(axis=0)
        return result

    def rmatvec(self, batch: Batch, R: Float64) -> Float64:
        """``Z^T R``, at precision "fast"."""
        if batch.words is None or not self.packed:
            return batch.design.rmatvec(R, "fast")
        shape, scale, offset = (len(batch.ids), self.m), self.scale, self.offset
        result = ops.rmatmul(batch.words, self.layout, shape, R, zero2=self.zero2, table=self.table)
        if scale.ndim or scale != 1.0:
            result *= scale if scale.ndim == 0 else scale[:, None]
        if offset.any():
            result += (offset if offset.ndim == 0 else offset[:, None]) * R.sum(axis=0)
        return result


def mean_loss(loss: Loss, y: Array, raw: Float64, weights: Float64 | None) -> float:
    """Weighted mean over rows, summed over columns; of Poisson's loss half the deviance, so that it is at least 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = loss.value(y, raw)
        if isinstance(loss, Poisson):
            value = value + y - y * np.log(np.where(y > 0, y, 1.0))
        rows = value if value.ndim == 1 else value.sum(axis=1)
        return float(rows.mean() if weights is None else weights @ rows / weights.sum())
