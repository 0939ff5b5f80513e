"""SPECTRUM Table 1: closed forms of Phi(a, b), as printed, against Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from nanogram.activations import Activation, LeakyReLU, Quadratic, make_activation
from papers._kernels import plot_grid
from papers.item import Finding, Item, Outcome, Record, Size, select

Floats = npt.NDArray[np.float64]
PLUS, MINUS = 1.0, 0.3
A2, A1, A0 = 0.7, -1.2, 0.4

#: As printed: from |a|, |b|, a.b and their cosine.
PRINTED: dict[str, Callable[[float, float, float, float], float]] = {
    "t": lambda a, b, ab, cs: ab,
    "max(t, 0)": lambda a, b, ab, cs: a * b * (cs * np.arccos(-cs) + np.sqrt(1 - cs**2)) / (2 * np.pi),
    "|t|": lambda a, b, ab, cs: 2 / np.pi * a * b * (cs * np.arcsin(cs) + np.sqrt(1 - cs**2)),
    "leaky": lambda a, b, ab, cs: (
        (PLUS**2 + MINUS**2) / 2 * ab
        + a * b / (2 * np.pi) * (PLUS + MINUS) ** 2 * (np.sqrt(1 - cs**2) - cs * np.arccos(cs))
    ),
    "1[t > 0]": lambda a, b, ab, cs: 0.5 - np.arccos(cs) / (2 * np.pi),
    "sign(t)": lambda a, b, ab, cs: 2 / np.pi * np.arcsin(cs),
    "quadratic": lambda a, b, ab, cs: A2**2 * (2 * ab**2 + a**2 * b**2) + A1**2 * ab + A2 * A0 * (a**2 + b**2) + A0**2,
    "cos(t)": lambda a, b, ab, cs: np.exp(-(a**2 + b**2) / 2) * np.cosh(ab),
    "sin(t)": lambda a, b, ab, cs: np.exp(-(a**2 + b**2) / 2) * np.sinh(ab),
    "erf(t)": lambda a, b, ab, cs: 2 / np.pi * np.arcsin(2 * ab / np.sqrt((1 + 2 * a**2) * (1 + 2 * b**2))),
    "exp(-t^2/2)": lambda a, b, ab, cs: 1 / np.sqrt((1 + a**2) * (1 + b**2) - ab**2),
}
FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "t": lambda t: t,
    "max(t, 0)": lambda t: np.maximum(t, 0),
    "|t|": np.abs,
    "leaky": lambda t: PLUS * np.maximum(t, 0) + MINUS * np.maximum(-t, 0),
    "1[t > 0]": lambda t: np.asarray(t > 0, dtype=np.float64),
    "sign(t)": np.sign,
    "quadratic": lambda t: A2 * t**2 + A1 * t + A0,
    "cos(t)": np.cos,
    "sin(t)": np.sin,
    "erf(t)": erf,
    "exp(-t^2/2)": lambda t: np.exp(-(t**2) / 2),
}
LIBRARY: dict[str, str | Activation] = {
    "t": "identity",
    "max(t, 0)": "relu",
    "|t|": "abs",
    "leaky": LeakyReLU(PLUS, MINUS),
    "1[t > 0]": "step",
    "sign(t)": "sign",
    "quadratic": Quadratic(A2, A1, A0),
    "cos(t)": "cos",
    "sin(t)": "sin",
    "erf(t)": "erf",
    "exp(-t^2/2)": "gaussian",
}
#: |a|, |b| and cosine of the pairs.
PAIRS = ((1.0, 1.0, 0.0), (1.0, 1.0, 0.8), (0.7, 1.6, -0.5), (1.2, 0.9, 0.97))


def measure(parameters: Mapping[str, Any], seed: int) -> Outcome:
    """Printed and library's closed form, in standard errors of the Monte Carlo mean, at each pair."""
    name, draws = parameters["function"], parameters["draws"]
    u, v = np.random.default_rng(seed).standard_normal((2, draws))
    function, activation = FUNCTIONS[name], make_activation(LIBRARY[name])
    printed, library = [], []
    for a, b, cs in PAIRS:
        products = function(a * u) * function(b * (cs * u + np.sqrt(1 - cs**2) * v))
        mean, error = products.mean(), products.std(ddof=1) / np.sqrt(draws)
        printed.append((PRINTED[name](a, b, a * b * cs, cs) - mean) / error)
        library.append((float(activation.kernel_from_dots(a * a, a * b * cs, b * b)) - mean) / error)
    return Outcome(float(np.abs(printed).max()), {"printed": printed, "library": library}, u.nbytes * 2)


def findings(records: Sequence[Record]) -> list[Finding]:
    found = []
    for name in PRINTED:
        own = select(records, function=name)
        # The mean over seeds of z has standard error 1 / sqrt(seeds): in those units, over pairs, below 4.
        z = np.array([r.values["printed"] for r in own]).mean(axis=0) * np.sqrt(len(own))
        found.append(
            Finding(
                f"{name.replace('|', chr(92) + '|')}: largest deviation over {len(PAIRS)} pairs, in standard errors",
                "the formula",
                float(np.abs(z).max()),
                None,
                len(own),
                bool(np.abs(z).max() < 4),
                "below 4",
                ".2f",
            )
        )
    differences = [np.abs(np.subtract(r.values["printed"], r.values["library"])).max() for r in records]
    found.append(
        Finding(
            "library's closed form less the printed one, in the same unit",
            "the same",
            float(max(differences)),
            None,
            len(records),
            max(differences) < 1e-4,
            "below 1e-4",
            ".1g",
        )
    )
    return found


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(1, 1, (7.0, 3.6))
    ax = axes[0, 0]
    for place, name in enumerate(PRINTED):
        z = np.array([r.values["printed"] for r in select(records, function=name)]).ravel()
        ax.plot(np.full(len(z), place), z, ".", ms=4, color="#0072B2", alpha=0.5)
    ax.axhspan(-2, 2, color="grey", alpha=0.15, lw=0)
    ax.set_xticks(range(len(PRINTED)), PRINTED, rotation=50, ha="right", fontsize=8)
    ax.set_ylabel("(printed - Monte Carlo) / error")
    return figure


ITEM = Item(
    name="spectrum-table1",
    title="SPECTRUM Table 1: closed forms of Phi(a, b)",
    claim="eleven closed forms of E[s(w.a) s(w.b)]",
    data="Monte Carlo, pairs of rows of four shapes",
    sizes={
        "quick": Size([{"function": name, "draws": 100_000} for name in PRINTED], 2),
        "full": Size([{"function": name, "draws": 1_000_000} for name in PRINTED], 6),
    },
    measure=measure,
    findings=findings,
    plot=plot,
)
