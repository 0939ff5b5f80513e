"""Two activations on one mixture: which of them has the classes in its leading eigenvector (figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers._kernels import plot_grid
from papers.item import Finding, Record, mean_and_error, select

from ._equivalence import first, plot_eigenvector


def findings_of(records: Sequence[Record], blind: str, seeing: str) -> list[Finding]:
    """``blind`` cannot tell the classes, ``seeing`` can."""
    found = []
    for activation, sees in ((blind, False), (seeing, True)):
        own = select(records, activation=activation)
        mean, error = mean_and_error([r.values["accuracy"] for r in own])
        found.append(
            Finding(
                f"{activation}: share of rows on the right side of the leading eigenvector",
                "separates" if sees else "fails to separate",
                mean,
                error,
                len(own),
                mean > 0.9 if sees else mean < 0.6,
                "above 90 %" if sees else "below 60 %",
                "%",
            )
        )
    own = select(records, activation=seeing)
    mean, error = mean_and_error([r.values["alignment"] for r in own])
    found.append(
        Finding(
            f"{seeing}: squared cosine of the leading eigenvectors of K and K~",
            "curves coincide",
            mean,
            error,
            len(own),
            mean > 0.95,
            "above .95",
            ".4f",
        )
    )
    return found


def plot_of(records: Sequence[Record], blind: str, seeing: str) -> Any:
    figure, axes = plot_grid(1, 2)
    for ax, activation in zip(axes[0], (blind, seeing), strict=True):
        plot_eigenvector(first(records, activation=activation), ax, activation)
    return figure
