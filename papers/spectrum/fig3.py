"""SPECTRUM Figure 3: covariances differ: erf is blind, ReLU is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers.item import Finding, Item, Record, Size

from ._equivalence import measure
from ._separation import findings_of, plot_of

BLIND, SEEING = "erf", "relu"


def setting(activation: str) -> dict[str, Any]:
    return {"p": 512, "n": 256, "kind": "covariances", "mean": 5.0, "spread": 15.0, "activation": activation}


def findings(records: Sequence[Record]) -> list[Finding]:
    return findings_of(records, BLIND, SEEING)


def plot(records: Sequence[Record]) -> Any:
    return plot_of(records, BLIND, SEEING)


GRID = [setting(activation) for activation in (BLIND, SEEING)]
ITEM = Item(
    name="spectrum-fig3",
    title="SPECTRUM Fig. 3: covariances differ: erf is blind, ReLU is not",
    claim="with common means and different covariances erf fails to separate the classes, ReLU does",
    data="Gaussian mixture as printed",
    sizes={"quick": Size(GRID, 2), "full": Size(GRID, 10)},
    measure=measure,
    findings=findings,
    plot=plot,
)
