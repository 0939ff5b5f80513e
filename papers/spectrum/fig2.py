"""SPECTRUM Figure 2: leading eigenvector of Phi_c and of its equivalent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers._kernels import plot_grid
from papers.item import Finding, Item, Record, Size, mean_and_error

from ._equivalence import first, measure, plot_eigenvector
from .fig1 import setting


def findings(records: Sequence[Record]) -> list[Finding]:
    exact, exact_error = mean_and_error([r.values["alignment"] for r in records])
    drawn, drawn_error = mean_and_error([r.values["alignment_averaged"] for r in records])
    return [
        Finding(
            "squared cosine of the leading eigenvectors of K and K~",
            "curves coincide",
            exact,
            exact_error,
            len(records),
            exact > 0.95,
            "above .95",
            ".4f",
        ),
        Finding(
            "the same with the paper's average over 500 draws of W",
            "curves coincide",
            drawn,
            drawn_error,
            len(records),
            drawn > 0.95,
            "above .95",
            ".4f",
        ),
    ]


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(1, 1, (6.5, 3.6))
    plot_eigenvector(first(records), axes[0, 0], "K averaged over 500 draws of W, and K~")
    return figure


ITEM = Item(
    name="spectrum-fig2",
    title="SPECTRUM Fig. 2: leading eigenvector of K and of its equivalent",
    claim="the leading eigenvectors coincide (setting of Fig. 1)",
    data="Gaussian mixture as printed",
    sizes={"quick": Size([setting(512)], 2), "full": Size([setting(512)], 20)},
    measure=measure,
    findings=findings,
    plot=plot,
)
