"""SPECTRUM Figure 6: four classes in the two leading eigenvectors of the ReLU's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanogram.inspection import EigenvectorDisplay
from papers._kernels import plot_grid
from papers.item import Finding, Item, Record, Size, mean_and_error

from ._four import measure

GRID = [{"a_plus": 1.0, "a_minus": 0.0}]
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")


def findings(records: Sequence[Record]) -> list[Finding]:
    mean, error = mean_and_error([r.values["four"] for r in records])
    distance, distance_error = mean_and_error([r.error for r in records])
    return [
        Finding(
            "accuracy of k-means into four clusters on two eigenvectors",
            "all four classes distinguished",
            mean,
            error,
            len(records),
            mean > 0.7,
            "above 70 %, which neither setting of Fig. 5 reaches",
            "%",
        ),
        Finding(
            "\\|K - K~\\| / \\|K\\|", "vanishes", distance, distance_error, len(records), distance < 0.1, "below .1"
        ),
    ]


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(1, 3, (4.2, 3.4))
    values = next(r for r in records if r.seed == 0).values
    for k in (0, 1):
        equivalent = values["equivalent_vectors"][k]
        EigenvectorDisplay(values["vectors"][k], values["labels"], equivalent=equivalent, component=k).plot(axes[0, k])
    # With the signs of the panels beside it.
    vectors = np.array([EigenvectorDisplay(vector, values["labels"]).eigenvector for vector in values["vectors"]])
    labels, ax = np.array(values["labels"]), axes[0, 2]
    for a, colour in enumerate(COLOURS):
        ax.scatter(*vectors[:, labels == a], s=10, color=colour, label=f"class {a}")
    low, high = ax.get_ylim()
    ax.set(xlabel="eigenvector 1", ylabel="eigenvector 2", ylim=(low, high + 0.25 * (high - low)))
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")
    return figure


ITEM = Item(
    name="spectrum-fig6",
    title="SPECTRUM Fig. 6: four classes, ReLU",
    claim="with slopes (1, 0), the ReLU, the leading two eigenvectors distinguish all four classes",
    data="Gaussian mixture as printed",
    sizes={"quick": Size(GRID, 2), "full": Size(GRID, 10)},
    measure=measure,
    findings=findings,
    plot=plot,
)
