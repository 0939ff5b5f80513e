"""SPECTRUM Figure 5: four classes, leaky ReLUs that see means alone or covariances alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nanogram.inspection import EigenvectorDisplay
from papers._kernels import plot_grid
from papers.item import Finding, Item, Record, Size, mean_and_error, select

from ._four import measure

GRID = [{"a_plus": 1.0, "a_minus": a_minus} for a_minus in (1.0, -1.0)]
NAMES = {1.0: "max(t,0) + max(-t,0) = |t|", -1.0: "max(t,0) - max(-t,0) = t"}


def findings(records: Sequence[Record]) -> list[Finding]:
    found = []
    for a_minus, seen, unseen in ((1.0, "covariance", "mean"), (-1.0, "mean", "covariance")):
        own = select(records, a_minus=a_minus)
        sign = "+" if a_minus > 0 else "-"
        for which, bound in ((seen, True), (unseen, False)):
            mean, error = mean_and_error([r.values[f"by_{which}"] for r in own])
            found.append(
                Finding(
                    f"slopes (1, {sign}1): accuracy of the two groups by {which}, on either leading eigenvector",
                    "recovered" if bound else "not recovered",
                    mean,
                    error,
                    len(own),
                    mean > 0.9 if bound else mean < 0.6,
                    "above 90 %" if bound else "below 60 %",
                    "%",
                )
            )
        mean, error = mean_and_error([r.values["four"] for r in own])
        found.append(
            Finding(
                f"slopes (1, {sign}1): accuracy of four clusters",
                "two classes instead of four",
                mean,
                error,
                len(own),
                mean < 0.7,
                "below 70 %",
                "%",
            )
        )
    return found


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(2, 2)
    for row, a_minus in zip(axes, (1.0, -1.0), strict=True):
        values = next(r for r in select(records, a_minus=a_minus) if r.seed == 0).values
        for k, ax in enumerate(row):
            equivalent = values["equivalent_vectors"][k]
            EigenvectorDisplay(values["vectors"][k], values["labels"], equivalent=equivalent, component=k).plot(ax)
            ax.set_title(f"{NAMES[a_minus]}: eigenvector {k + 1}", fontsize=9)
    return figure


ITEM = Item(
    name="spectrum-fig5",
    title="SPECTRUM Fig. 5: four classes, slopes (1, 1) and (1, -1)",
    claim="either setting of the slopes recovers two classes instead of four",
    data="Gaussian mixture as printed",
    sizes={"quick": Size(GRID, 2), "full": Size(GRID, 10)},
    measure=measure,
    findings=findings,
    plot=plot,
    remark=(
        "The paper's text has the two settings the wrong way round: it calls slopes (1, 1) \"equivalent to the "
        'linear map" '
        'and (1, -1) "equivalent to |t|". By its own definition, a+ max(t, 0) + a- max(-t, 0), slopes (1, 1) are |t| '
        "(d1 = 0) and (1, -1) are t (d2 = 0), as its Table 2 and the measurement above say."
    ),
)
