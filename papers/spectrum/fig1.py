"""SPECTRUM Figure 1: eigenvalues of Phi_c and of its equivalent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanogram.theory import fitted_rate
from papers._kernels import plot_grid
from papers.item import Finding, Item, Record, Size, mean_and_error, select

from ._equivalence import error_finding, first, measure, plot_spectrum


def setting(p: int) -> dict[str, Any]:
    return {"p": p, "n": p // 2, "kind": "both", "mean": 3.0, "spread": 2.0, "activation": "relu"}


def findings(records: Sequence[Record]) -> list[Finding]:
    own = select(records, p=512)
    apart, spread = mean_and_error([r.values["eigenvalues_apart"] for r in own])
    p = [r.parameters["p"] for r in records]
    rate = fitted_rate(p, [r.error for r in records])
    return [
        error_finding(own, "p = 512, n = 256"),
        Finding(
            "largest difference of two eigenvalues, over \\|K\\|",
            "vanishes",
            apart,
            spread,
            len(own),
            bool(apart <= own[0].error * 1.05 + 1e-12 or apart <= mean_and_error([r.error for r in own])[0]),
            "no more than \\|K - K~\\| / \\|K\\| (Weyl)",
        ),
        Finding(
            "rate p^-a of \\|K - K~\\| / \\|K\\| from p = 128 on",
            "falls to 0",
            rate.exponent,
            rate.error,
            len(p),
            rate.exponent > 2 * rate.error,
            "a > 0 by two standard errors",
        ),
    ]


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(1, 2)
    plot_spectrum(first(records, p=512), axes[0, 0])
    dimensions = sorted({r.parameters["p"] for r in records})
    errors = np.array([mean_and_error([r.error for r in select(records, p=p)]) for p in dimensions])
    ax = axes[0, 1]
    ax.errorbar(dimensions, errors[:, 0], np.nan_to_num(errors[:, 1]), marker="o", color="#0072B2", label="measured")
    ax.plot(
        dimensions, errors[0, 0] * np.sqrt(dimensions[0] / np.array(dimensions)), ls=":", color="grey", label="p^-1/2"
    )
    ax.set(xscale="log", yscale="log", xlabel="p = 2 n", ylabel="|K - K~| / |K|")
    ax.set_xticks(dimensions, [str(p) for p in dimensions])
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    ax.legend(frameon=False)
    return figure


ITEM = Item(
    name="spectrum-fig1",
    title="SPECTRUM Fig. 1: eigenvalues of K (ReLU) and of its equivalent",
    claim="spectra of Phi_c and its equivalent coincide, spike included (p = 512, T = 256)",
    data="Gaussian mixture as printed",
    sizes={
        "quick": Size([setting(p) for p in (128, 512)], 2),
        "full": Size([setting(p) for p in (128, 256, 512, 1024)], 10),
    },
    measure=measure,
    findings=findings,
    plot=plot,
)
