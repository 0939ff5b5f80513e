"""SPECTRUM Table 2: coefficients d0, d1, d2, as printed, against their definition by Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nanogram.activations import make_activation
from papers._kernels import plot_grid
from papers.item import Finding, Item, Outcome, Record, Size, select

from .table1 import A1, A2, FUNCTIONS, LIBRARY, MINUS, PLUS

TAUS = (0.5, 1.0, 2.0)

#: (d0, d1, d2) as printed, at tau; the leaky ReLU's d2 is printed with tau illegible, and read as 8 pi tau.
PRINTED: dict[str, Callable[[float], tuple[float, float, float]]] = {
    "t": lambda tau: (0, 1, 0),
    "max(t, 0)": lambda tau: ((1 / 4 - 1 / (2 * np.pi)) * tau, 1 / 4, 1 / (8 * np.pi * tau)),
    "|t|": lambda tau: ((1 - 2 / np.pi) * tau, 0, 1 / (2 * np.pi * tau)),
    "leaky": lambda tau: (
        (np.pi - 2) / (4 * np.pi) * (PLUS + MINUS) ** 2 * tau,
        (PLUS - MINUS) ** 2 / 4,
        (PLUS + MINUS) ** 2 / (8 * np.pi * tau),
    ),
    "1[t > 0]": lambda tau: (1 / 4 - 1 / (2 * np.pi), 1 / (2 * np.pi * tau), 0),
    "sign(t)": lambda tau: (1 - 2 / np.pi, 2 / (np.pi * tau), 0),
    "quadratic": lambda tau: (2 * tau**2 * A2**2, A1**2, A2**2),
    "cos(t)": lambda tau: (1 / 2 + np.exp(-2 * tau) / 2 - np.exp(-tau), 0, np.exp(-tau) / 4),
    "sin(t)": lambda tau: (1 / 2 - np.exp(-2 * tau) / 2 - tau * np.exp(-tau), np.exp(-tau), 0),
    "erf(t)": lambda tau: (
        2 / np.pi * (np.arccos(2 * tau / (2 * tau + 1)) - 2 * tau / (2 * tau + 1)),
        4 / np.pi / (2 * tau + 1),
        0,
    ),
    "exp(-t^2/2)": lambda tau: (1 / np.sqrt(2 * tau + 1) - 1 / (tau + 1), 0, 1 / (4 * (tau + 1) ** 3)),
}


def measure(parameters: Mapping[str, Any], seed: int) -> Outcome:
    """Deviations of the printed numbers in standard errors, by the delta method, at each tau.

    With first = E[z s]/sqrt(tau) and second = E[(z^2-1) s]/tau: d1 = first^2, d2 = second^2/4,
    d0 = Var s - tau d1. Where a moment is 0, its square has no standard error of its own: the root is compared.
    """
    name, draws = parameters["function"], parameters["draws"]
    z = np.random.default_rng(seed).standard_normal(draws)
    deviations, monte_carlo, library = [], [], []
    for tau in TAUS:
        s = FUNCTIONS[name](np.sqrt(tau) * z)
        s = s - s.mean()
        # The mean of each column is a moment; functions of them get their error from the columns' covariance.
        columns = np.stack([s**2, z * s / np.sqrt(tau), (z**2 - 1) * s / tau])
        moments, spread = columns.mean(axis=1), np.cov(columns) / draws
        d0_gradient = np.array([1.0, -2 * tau * moments[1], 0.0])
        errors = np.sqrt([d0_gradient @ spread @ d0_gradient, spread[1, 1], spread[2, 2]])
        d0, d1, d2 = PRINTED[name](tau)
        found = np.array([moments[0] - tau * moments[1] ** 2, abs(moments[1]), abs(moments[2]) / 2])
        errors[2] /= 2
        difference = np.array([d0, np.sqrt(d1), np.sqrt(d2)]) - found
        # An identity (0 for every draw but for rounding) has no error: rounding counts as none.
        deviations.append(np.where(np.abs(difference) < 1e-9, 0.0, difference / np.maximum(errors, 1e-300)))
        monte_carlo.append([found[0], found[1] ** 2, found[2] ** 2])
        library.append(list(make_activation(LIBRARY[name]).moments(tau)))
    values = {"deviations": deviations, "monte_carlo": monte_carlo, "library": library}
    return Outcome(float(np.abs(deviations).max()), values, z.nbytes)


def _z(records: Sequence[Record], name: str) -> Any:
    own = select(records, function=name)
    return np.array([r.values["deviations"] for r in own]).mean(axis=0) * np.sqrt(len(own))


def findings(records: Sequence[Record]) -> list[Finding]:
    found = []
    for name in PRINTED:
        z = np.abs(_z(records, name))
        for k, d in enumerate(("d0", "d1", "d2")):
            found.append(
                Finding(
                    f"{name.replace('|', chr(92) + '|')}: {d}, largest deviation over tau = .5, 1, 2 in standard "
                    f"errors",
                    "the formula",
                    float(z[:, k].max()),
                    None,
                    len(select(records, function=name)),
                    bool(z[:, k].max() < 4.5),
                    "below 4.5",
                    ".3g",
                )
            )
    return found


def plot(records: Sequence[Record]) -> Any:
    figure, axes = plot_grid(1, 1, (7.5, 3.8))
    ax = axes[0, 0]
    for k, (d, colour) in enumerate((("d0", "#0072B2"), ("d1", "#E69F00"), ("d2", "#009E73"))):
        z = np.array([np.abs(_z(records, name))[:, k].max() for name in PRINTED])
        ax.bar(np.arange(len(PRINTED)) + (k - 1) * 0.25, np.maximum(z, 0.02), 0.25, color=colour, label=d)
    ax.axhline(4.5, color="black", lw=0.8, ls=":")
    ax.set_yscale("log")
    ax.set_ylim(top=ax.get_ylim()[1] * 4)
    ax.set_xticks(range(len(PRINTED)), PRINTED, rotation=50, ha="right", fontsize=8)
    ax.set_ylabel("|printed - Monte Carlo| / error")
    ax.legend(frameon=False, ncols=3)
    return figure


def remark(records: Sequence[Record]) -> str:
    own = select(records, function="erf(t)")
    measured = np.array([r.values["monte_carlo"] for r in own])[:, TAUS.index(1.0), 0]
    true = own[0].values["library"][TAUS.index(1.0)][0]
    return (
        "d0 of erf is printed with arccos where arcsin must stand: 2/pi (arcsin(2 tau/(2 tau+1)) - 2 tau/(2 "
        "tau+1)). At tau = 1 "
        f"the print gives {PRINTED['erf(t)'](1.0)[0]:.4f}, Monte Carlo {measured.mean():.5f} +- "
        f"{measured.std(ddof=1) / np.sqrt(len(own)):.1g} and the corrected formula {true:.5f}. d0 is a ridge: no "
        f"eigenvector and "
        "no figure of the paper depends on it. Everything else is as printed; the quadratic's d2 is the square of the "
        "coefficient of t^2."
    )


ITEM = Item(
    name="spectrum-table2",
    title="SPECTRUM Table 2: d0, d1, d2 of eleven activations",
    claim="33 closed forms of (d0, d1, d2)",
    data="Monte Carlo at tau = .5, 1, 2",
    sizes={
        "quick": Size([{"function": name, "draws": 100_000} for name in PRINTED], 2),
        "full": Size([{"function": name, "draws": 1_000_000} for name in PRINTED], 6),
    },
    measure=measure,
    findings=findings,
    plot=plot,
    remark=remark,
)
