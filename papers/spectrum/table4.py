"""SPECTRUM Table 4: accuracies of spectral clustering on MNIST 6 and 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers.item import Finding, Item, Record

from . import _accuracies as shared

PRINTED = {
    "identity": (85.31, 88.94, 87.30),
    "step": (86.00, 82.94, 85.56),
    "sign": (81.94, 83.34, 85.22),
    "sin": (85.31, 87.81, 87.50),
    "erf": (86.50, 87.28, 86.59),
    "abs": (62.81, 60.41, 57.81),
    "cos": (62.50, 59.56, 57.72),
    "gaussian": (64.00, 60.44, 58.67),
    "relu": (82.87, 85.72, 82.27),
}


def findings(records: Sequence[Record]) -> list[Finding]:
    return shared.findings_of(records, PRINTED, ("mean", "covariance"))


def plot(records: Sequence[Record]) -> Any:
    return shared.plot_of(records, PRINTED)


ITEM = Item(
    name="spectrum-table4",
    title="SPECTRUM Table 4: accuracy on MNIST 6/8, 32 features",
    claim="mean-oriented activations far outperform covariance-oriented ones on MNIST 6/8; 27 accuracies",
    data="MNIST 6 and 8, training part (11,769 rows), as in the paper",
    sizes=shared.sizes_of("mnist"),
    measure=shared.measure,
    findings=findings,
    plot=plot,
    remark=lambda records: shared.remark_of(records, PRINTED),
    needs=("mnist",),
)
