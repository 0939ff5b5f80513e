"""What fit learns of the rows before anything is drawn: means, size, bandwidth, and the grid they go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nanogram._bandwidth import resolve_gamma, row_scale
from nanogram.rows import RowSource

from .reading import no_rows

__all__ = ["Scaling", "fit_scaling"]

Floats = npt.NDArray[np.float64]

_PASS_ENTRIES = 2**19


@dataclass(frozen=True)
class Scaling:
    """Rows enter the projection as ``scale (x - mean)``.

    Sparse rows stay as they are: what the means add, ``-scale w.mean``, goes into each column's bias.

    Attributes
    ----------
    gamma, scale : float
        The bandwidth as a number, and the factor on rows that it means.
    mean : ndarray of shape (p,)
        Column means; zeros for maps that do not centre.
    shifted : bool
        Means are taken off the rows themselves (dense rows) rather than off the projections (sparse rows).
    tau : float
        Mean squared norm of the rows, centred and scaled (of the rows as they are for maps that do not centre).
    largest_entry, largest_norm, norm : float
        Greatest |entry|, greatest and root mean square norm of the rows that go on a grid, unscaled.
    n_rows : int
    """

    gamma: float
    scale: float
    mean: Floats
    shifted: bool
    tau: float
    largest_entry: float
    largest_norm: float
    norm: float
    n_rows: int

    @property
    def centred(self) -> bool:
        """Whether the means are anything but zero."""
        return bool(self.mean.any())

    @property
    def beyond(self) -> float:
        """Share of other rows, or of other entries of a column, that exceed the largest of fit, were all alike."""
        return 1 / (self.n_rows + 1)

    def moved(self, block: Any) -> Any:
        """Rows in double as they are projected: dense with the means off, or csr as they are.

        Which of the two was settled at fit: the same rows give the same codes, whatever holds them.
        """
        if not self.shifted:
            return sp.csr_array(block).astype(np.float64)
        dense = block.toarray() if sp.issparse(block) else block
        return dense - self.mean if self.centred else dense.astype(np.float64)


def fit_scaling(source: RowSource, gamma: float | str, target: str, centre: bool, seed: int) -> Scaling:
    """Read the rows twice: means first, then the sizes of the centred rows."""
    if not source.restartable:
        raise TypeError("fit reads the rows more than once: pass a function that returns a fresh iterator")
    step = max(1, _PASS_ENTRIES // source.n_columns)
    count, sums = 0, np.zeros(source.n_columns)
    block: Any
    for _, block in source.blocks(step, np.float64, sparse="keep"):
        count += block.shape[0]
        if centre:
            sums += block.sum(axis=0)
    if not count:
        raise no_rows(source.n_columns)
    mean = sums / count
    # Not centred, or columns of a sparse source: zeros stay zeros on the grid.
    shifted = not source.is_sparse
    centred_total = grid_total = largest_entry = largest_square = 0.0
    for _, block in source.blocks(step, np.float64, sparse="keep", check_finite=False):
        with np.errstate(over="ignore"):
            if sp.issparse(block):
                squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
                centred_total += float((squares - 2 * (block @ mean)).sum()) + block.shape[0] * float(mean @ mean)
                entries = np.abs(block.data)
            else:
                moved = block - mean
                squares = np.einsum("ij,ij->i", moved, moved)
                centred_total += float(squares.sum())
                entries = np.abs(moved, out=moved)
        grid_total += float(squares.sum())
        largest_square = max(largest_square, float(squares.max()))
        largest_entry = max(largest_entry, float(entries.max(initial=0.0)))
    if not np.isfinite(largest_square):
        raise ValueError(f"X holds values up to {largest_entry:.3g}, too large to square in double; scale X down")
    raw = max(centred_total / count, 0.0)
    # What is left of rows that are all alike after their means are taken off is rounding.
    if raw <= 1e-28 * float(mean @ mean):
        raw = 0.0
    if gamma == "scale" and target != "laplacian":
        number = 1.0 / (2 * raw) if raw > 0 else 1.0
        if not np.isfinite(number):
            raise ValueError(f"gamma='scale' overflows: the rows differ by {np.sqrt(raw):.3g} only; scale X up")
    else:
        number = resolve_gamma(gamma, source, target=target, random_state=seed)
    scale = row_scale(number, target)
    return Scaling(
        gamma=number,
        scale=scale,
        mean=mean,
        shifted=shifted,
        tau=raw * scale * scale,
        largest_entry=largest_entry,
        largest_norm=float(np.sqrt(largest_square)),
        norm=float(np.sqrt(grid_total / count)),
        n_rows=count,
    )
