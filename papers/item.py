"""What an item of a paper is: declared once, run by `runner`, told by `report`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Finding", "Item", "Outcome", "Record", "Size", "mean_and_error", "select"]


@dataclass(frozen=True)
class Outcome:
    """What one run measured.

    Attributes
    ----------
    error : float
        The item's headline error: distance, share of wrong answers, largest deviation.
    values : mapping
        Everything else, numbers and lists of numbers by name; plots and findings are made from it.
    bytes : int
        Of the largest thing held: features or kernel matrices, as they are in memory.
    """

    error: float
    values: Mapping[str, Any]
    bytes: int


@dataclass(frozen=True)
class Record:
    """One run, as a line of results."""

    parameters: Mapping[str, Any]
    seed: int
    error: float
    values: Mapping[str, Any]
    bytes: int
    seconds: float
    machine: str


@dataclass(frozen=True)
class Size:
    """Settings to run, each with seeds 0 to ``seeds`` - 1."""

    grid: Sequence[Mapping[str, Any]]
    seeds: int

    def runs(self) -> list[tuple[Mapping[str, Any], int]]:
        """Seed by seed, so that what is there after an interruption covers the grid."""
        return [(parameters, seed) for seed in range(self.seeds) for parameters in self.grid]


@dataclass(frozen=True)
class Finding:
    """One claim of a paper beside what was measured.

    Attributes
    ----------
    claim : str
        What is claimed, in words.
    printed : str
        The number or shape that stands in the paper.
    measured : float
    standard_error : float or None
        Of the mean over runs; None where the measurement is exact.
    runs : int
    holds : bool
    rule : str
        When it holds.
    unit : str
        Format of the numbers, as for `format`; "%" for percentages.
    """

    claim: str
    printed: str
    measured: float
    standard_error: float | None
    runs: int
    holds: bool
    rule: str
    unit: str = ".3g"


@dataclass(frozen=True)
class Item:
    """A figure, table or remark of a paper.

    Attributes
    ----------
    name : str
        ``<paper>-<file>``.
    title : str
    claim : str
        The paper's claim in a line.
    data : str
        What it was run on.
    stand_in : str
        Where ``data`` are not the paper's: what stands in for what; empty otherwise.
    sizes : mapping of 'quick' and 'full' to Size
    measure : callable
        ``measure(parameters, seed)`` gives an Outcome; a pure function of its two arguments.
    findings : callable
        From the records to findings.
    plot : callable
        From the records to a matplotlib figure.
    remark : str or callable
        What must be said beside the numbers, why a claim fails for instance; a callable gets the records.
    needs : tuple of str
        Data sets, by their names in `nanogram.datasets`.
    revision : int
        Raised when ``measure`` changes: records of other revisions are run again.
    """

    name: str
    title: str
    claim: str
    data: str
    sizes: Mapping[str, Size]
    measure: Callable[[Mapping[str, Any], int], Outcome]
    findings: Callable[[Sequence[Record]], list[Finding]]
    plot: Callable[[Sequence[Record]], Any]
    stand_in: str = ""
    remark: str | Callable[[Sequence[Record]], str] = ""
    needs: tuple[str, ...] = field(default=())
    revision: int = 1


def select(records: Sequence[Record], **parameters: Any) -> list[Record]:
    """Records with these parameters."""
    return [r for r in records if all(r.parameters.get(name) == value for name, value in parameters.items())]


def mean_and_error(values: Any) -> tuple[float, float]:
    """Mean of the runs and its standard error (NaN of a single run)."""
    given = np.asarray(values, dtype=np.float64).ravel()
    error = given.std(ddof=1) / np.sqrt(len(given)) if len(given) > 1 else np.nan
    return float(given.mean()), float(error)
