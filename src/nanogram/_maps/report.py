"""What a fitted map tells about itself."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields

import numpy as np

__all__ = ["MapReport", "SaturationWarning"]

#: A transform that saturates more of its entries than this, and than twice the share at fit, is warned about.
SATURATION_BOUND = 1e-3


class SaturationWarning(UserWarning):
    """Rows reach beyond the range fixed at fit, so that their codes saturate."""


@dataclass
class MapReport:
    """What was fitted, by which path rows become codes, and how many entries saturated since.

    Attributes
    ----------
    path : str
        ``"float"``, or ``"integer"`` and the law whose encoder it is: codes of the latter are the same to the bit
        on every instruction set, for any number of threads and in any order of rows.
    projection, activation, code : str
        The parts as they were resolved.
    gamma, scale, tau : float
        Bandwidth, factor on rows, mean squared norm of the rows scaled and centred.
    grid_bits : int or None
        Bits of the grid that rows are put on; None on the float path.
    fitted_bytes, row_bytes : int
        Bytes the fitted map holds; bytes of the codes of one row.
    multiply_adds : int or None
        Cost of one row's projection, as the law states it.
    firing : tuple of float
        Probability of each level, for a designed code.
    excess_ridge : float or None
        Ridge that the target's kernel has and the designed code lacks (``excess_d0``).
    kind : str or None
        Kind of the designed code.
    notes : list of str
        Warnings given at fit, and choices made.
    rows, entries, saturated : int
        Rows transformed so far, entries of them compared with a range, and those that lay outside it.
    """

    path: str
    projection: str
    activation: str
    code: str
    gamma: float
    scale: float
    tau: float
    fitted_bytes: int
    row_bytes: float
    grid_bits: int | None = None
    multiply_adds: int | None = None
    firing: tuple[float, ...] = ()
    excess_ridge: float | None = None
    kind: str | None = None
    share_at_fit: float = 0.0
    notes: list[str] = field(default_factory=list)
    rows: int = 0
    entries: int = 0
    saturated: int = 0
    warned: bool = False

    @property
    def saturated_share(self) -> float:
        """Share of the entries transformed so far that lay outside the range fixed at fit."""
        return self.saturated / self.entries if self.entries else 0.0

    def count(self, rows: int, entries: int, saturated: int, stacklevel: int = 4) -> None:
        """Add one transform, and warn once when too much of it saturates."""
        # Entries that are clipped, of rows that are shrunk besides, count once.
        saturated = min(saturated, entries)
        self.rows += rows
        self.entries += entries
        self.saturated += saturated
        share = saturated / entries if entries else 0.0
        if not self.warned and share > max(SATURATION_BOUND, 2 * self.share_at_fit):
            self.warned = True
            warnings.warn(
                f"{share:.2g} of the entries lie outside the range seen at fit and saturate; "
                "fit on rows like these (said once; report_ counts on)",
                SaturationWarning,
                stacklevel=stacklevel,
            )

    def __str__(self) -> str:
        width = max(len(one.name) for one in fields(self))
        return "\n".join(f"{one.name:<{width}}  {_shown(getattr(self, one.name))}" for one in fields(self))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return "(" + ", ".join(f"{float(np.round(v, 6)):g}" for v in value) + ")"
    return str(value)
