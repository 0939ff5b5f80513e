"""TRF Remark 4: the Gram matrix of m features goes to the kernel as m / max(n, p) grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nanogram import FeatureMap, TernaryFeatures, kernels
from nanogram.datasets import make_gaussian_mixture, mixture_parameters
from nanogram.theory import fitted_rate
from nanogram.theory.kernel_error import centred
from papers._kernels import plot_grid
from papers.item import Finding, Item, Outcome, Record, Size, mean_and_error, select

N = 512
RATIOS = (0.25, 1, 4, 16, 64)
COLOURS = {"relu": "#0072B2", "ternary": "#D55E00"}


def measure(parameters: Mapping[str, Any], seed: int) -> Outcome:
    """|K - G| / |K| in spectral norm: ReLU with Gaussian W, or ternary codes with ternary W and their own kernel."""
    m = int(parameters["ratio"] * N)
    means, covariances = mixture_parameters(N, "both", mean=4.0, spread=4.0)
    X, *_ = make_gaussian_mixture(N, N, means=means, covariances=covariances, random_state=seed)
    if parameters["features"] == "relu":
        features: Any = FeatureMap("gaussian", "relu", "float32", m, gamma=0.5, random_state=seed)
        activation: Any = "relu"
        Z = features.fit_transform(X)
    else:
        features = TernaryFeatures(m, target="relu", gamma=0.5, projection="ternary", random_state=seed)
        Z = features.fit_transform(X)
        activation = features.design_.as_activation()
    K = centred(kernels.of_activation(activation, X - X.mean(axis=0)))
    G = centred(np.asarray(Z.kernel(), dtype=np.float64))
    size = float(np.linalg.norm(K, 2))
    error = float(np.linalg.norm(G - K, 2)) / size
    return Outcome(error, {"error": error, "bits": Z.bits}, int(Z.nbytes))


def findings(records: Sequence[Record]) -> list[Finding]:
    found = []
    for name, own in ((name, select(records, features=name)) for name in COLOURS):
        rate = fitted_rate([r.parameters["ratio"] for r in own], [r.error for r in own])
        last, error = mean_and_error([r.error for r in select(own, ratio=max(r.parameters["ratio"] for r in own))])
        found += [
            Finding(
                f"{name}: \\|K - G\\| / \\|K\\| ~ (m/n)^-a",
                "vanishes",
                rate.exponent,
                rate.error,
                len(own),
                rate.exponent > 0.35,
                "a above .35 (1/2 is the central limit)",
            ),
            Finding(
                f"{name}: \\|K - G\\| / \\|K\\| at the largest m",
                "vanishes",
                last,
                error,
                len(own) // len({r.parameters["ratio"] for r in own}),
                last < 0.15,
                "below .15",
            ),
        ]
    return found


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(1, 1, (6.0, 3.8))
    ax = axes[0, 0]
    for name, colour in COLOURS.items():
        own = select(records, features=name)
        ratios = sorted({r.parameters["ratio"] for r in own})
        errors = np.array([mean_and_error([r.error for r in select(own, ratio=ratio)]) for ratio in ratios])
        label = "ReLU, float32, Gaussian W" if name == "relu" else "designed ternary codes, ternary W"
        ax.errorbar(ratios, errors[:, 0], np.nan_to_num(errors[:, 1]), marker="o", ms=4, color=colour, label=label)
    ax.plot(ratios, errors[0, 0] * np.sqrt(ratios[0] / np.array(ratios)), ls=":", color="grey", label="(m/n)^-1/2")
    ax.set(xscale="log", yscale="log", xlabel="m / n  (n = p = 512)", ylabel="|K - G| / |K|")
    ax.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    ax.legend(frameon=False)
    return figure


def _grid(ratios: Sequence[float]) -> list[dict[str, Any]]:
    return [{"features": name, "ratio": ratio} for name in COLOURS for ratio in ratios]


ITEM = Item(
    name="trf-remark4",
    title="TRF Remark 4: Gram matrix of m features and expected kernel",
    claim="\\|K - G\\| vanishes for m / max(n, p) to infinity",
    data="Gaussian mixture of TRF Fig. 2, n = p = 512",
    sizes={"quick": Size(_grid(RATIOS[:3]), 2), "full": Size(_grid(RATIOS), 4)},
    measure=measure,
    findings=findings,
    plot=plot,
)
