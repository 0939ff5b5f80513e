"""Kernel error of designed step codes against the sign code and least-|lambda| designs (SPEC section 3).

Rows are drawn from two laws: the two-class mixture of TRF Figure 2 (p = 512), and Gaussian rows whose spectrum
decays so that their effective dimension is 28, which is that of MNIST. For each code and number of features the
centred kernel Z Z^T / m is compared with that of 'rbf', up to a multiple of P, in Frobenius norm.

    python benchmarks/step_design.py        # about three minutes on one core; writes benchmarks/results/step_design.*
"""

from __future__ import annotations

import datetime as dt
import json
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from nanogram import theory
from nanogram.activations import make_activation
from nanogram.theory.kernel_error import without_ridge

RESULTS = Path(__file__).parent / "results"
TAUS = (0.1, 0.5, 1.0, 2.0, 4.0)
FEATURES = (1000, 3000, 10_000, 30_000)
SEEDS = (0, 1, 2)
ROWS = 160
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
BLOCK = 1000


def draw_rows(law, tau, seed):
    """Centred rows of mean squared norm tau."""
    rng = np.random.default_rng([seed, 7])
    if law == "mixture":
        p = 512
        labels = np.arange(ROWS) % 2
        means = np.zeros((2, p))
        means[0, 0] = means[1, 1] = 4
        X = means[labels] + rng.standard_normal((ROWS, p)) * np.sqrt(1 + 4 * labels / np.sqrt(p))[:, None]
    else:
        # Standard deviations k^-.48 over 300 directions: (sum of variances)^2 / (sum of their squares) is 28.
        X = rng.standard_normal((ROWS, 300)) * np.arange(1.0, 301) ** -0.45
    X -= X.mean(axis=0)
    return X * np.sqrt(tau / np.mean(np.einsum("ij,ij->i", X, X)))


def least_lambda(tau):
    """Levels v(-1, 0, 1) that match (d1, d2) and whose d0 is nearest to the target's."""
    moments = make_activation("rbf").moments(tau)
    r = 2 * np.sqrt(tau * moments.d2 / moments.d1)
    top = (r - np.hypot(r, 2)) / 2

    def height(u):
        return (u - r) * np.exp((r * r - u * u) / 2)

    best = (np.inf, None, None)
    for low, high in ((-12.0, top), (top, r)):
        for up in r + np.linspace(1e-3, 5, 1500):
            if (height(low) + height(up)) * (height(high) + height(up)) > 0:
                continue
            down = brentq(lambda u, up=up: height(u) + height(up), low, high, xtol=1e-14)
            thresholds = np.array([down, up]) * np.sqrt(tau)
            unit = make_activation("step_function", thresholds=thresholds, levels=(-1, 0, 1)).moments(tau)
            gap = abs(moments.d0 - unit.d0 * moments.d1 / unit.d1)
            if gap < best[0]:
                best = gap, thresholds, np.sqrt(moments.d1 / unit.d1) * np.array([-1.0, 0.0, 1.0])
    return best[1], best[2]


def codes_at(tau):
    """The codes under test: name -> design."""
    moments = make_activation("rbf").moments(tau)
    scaled = theory.design_step_code((moments.d0, moments.d1, 0.0), tau, 2)
    thresholds, levels = least_lambda(tau)
    codes = {
        "sign, +-1": scaled._replace(levels=np.array([-1.0, 1.0])),
        "sign, d1 matched": scaled,
        "3 levels, least d0 gap": scaled._replace(thresholds=thresholds, levels=levels),
        "2 levels": theory.design_step_code("rbf", tau, 2, kind="monotone"),
        "3 levels": theory.design_step_code("rbf", tau, 3, kind="monotone"),
        "4 levels": theory.design_step_code("rbf", tau, 4, kind="free"),
    }
    if tau >= 0.5:
        codes["2 levels folded"] = theory.design_step_code("rbf", tau, 2, kind="folded")
        codes["3 levels folded"] = theory.design_step_code("rbf", tau, 3, kind="folded")
    codes["2 levels periodic"] = theory.design_step_code("rbf", tau, 2, kind="periodic")
    codes["3 levels periodic"] = theory.design_step_code("rbf", tau, 3, kind="periodic")
    return codes


def partial_matches(tau):
    """Three-level codes with the target's d1 and a share of its sqrt(d2)."""
    d0, d1, d2 = make_activation("rbf").moments(tau)
    return {share: theory.design_step_code((d0, d1, share**2 * d2), tau, 3, kind="monotone") for share in SHARES}


def heldout_choice(law, tau, codes):
    """For each m, the code of least expected error on rows of another draw."""
    X = draw_rows(law, tau, seed=999)
    errors = {name: theory.design_kernel_error(code, "rbf", X, 1) for name, code in codes.items()}

    def least(m):
        return min(errors, key=lambda name: np.hypot(errors[name].bias, errors[name].noise / np.sqrt(m)))

    return {m: least(m) for m in FEATURES}


def library_default(law, tau):
    """For each m, the code of `design_step_code` with kind 'auto' and rows of another draw, as `TernaryFeatures`."""
    X = draw_rows(law, tau, seed=999)
    names = {"monotone": "3 levels", "periodic": "3 levels periodic"}
    return {m: names[theory.design_step_code("rbf", tau, 3, X=X, n_features=m).kind] for m in FEATURES}


def stepped(values, function):
    """The step function by comparisons, which are quicker than a search for so few thresholds."""
    Z = np.full(values.shape, function.levels[0])
    for threshold, jump in zip(function.thresholds, np.diff(function.levels), strict=True):
        Z += jump * (values > threshold)
    return Z


def measured(law, tau, seed, codes):
    """Error of every code after m features, the projections being the same for all."""
    X = draw_rows(law, tau, seed)
    squares = np.einsum("ij,ij->i", X, X)
    goal = without_ridge(make_activation("rbf").kernel_from_dots(squares, X @ X.T, squares))
    functions = {name: code.as_activation() for name, code in codes.items()}
    sums = {name: np.zeros_like(goal) for name in codes}
    errors = {name: {} for name in codes}
    rng = np.random.default_rng([seed, 11])
    for done in range(BLOCK, FEATURES[-1] + 1, BLOCK):
        t = X @ rng.standard_normal((X.shape[1], BLOCK))
        wave = np.sqrt(2) * np.cos(t + rng.uniform(0, 2 * np.pi, BLOCK))
        for name, function in functions.items():
            Z = stepped(wave if function.uses_phase else t, function)
            sums[name] += Z @ Z.T
            if done in FEATURES:
                difference = without_ridge(sums[name] / done) - goal
                errors[name][done] = float(np.linalg.norm(difference) / np.linalg.norm(goal))
    return errors


def main():
    warnings.simplefilter("ignore", theory.RareFiringWarning)
    start, cells = time.perf_counter(), []
    for law in ("mixture", "decaying"):
        for tau in TAUS:
            codes = codes_at(tau)
            partial = partial_matches(tau)
            chosen_share = heldout_choice(law, tau, partial)
            everything = codes | {f"share {share}": partial[share] for share in sorted(set(chosen_share.values()))}
            choices = {n: codes[n] for n in ("3 levels", "3 levels periodic")}
            chosen_kind = heldout_choice(law, tau, choices)
            shares = {f"share {share}": code for share, code in partial.items()}
            chosen = heldout_choice(law, tau, shares | {"3 levels periodic": codes["3 levels periodic"]})
            everything |= {name: shares[name] for name in chosen.values() if name in shares}
            default = library_default(law, tau)
            runs = [measured(law, tau, seed, everything) for seed in SEEDS]
            for m in FEATURES:
                table = {name: [run[name][m] for run in runs] for name in everything}
                table["3 levels, share of d2 by heldout error"] = table[f"share {chosen_share[m]}"]
                table["3 levels, kind by heldout error"] = table[chosen_kind[m]]
                table["3 levels, auto (library)"] = table[default[m]]
                table["3 levels, kind or share by heldout error"] = table[chosen[m]]
                cells.append({
                    "law": law, "tau": tau, "m": m, "share": chosen_share[m], "kind": chosen_kind[m], "chosen": chosen[m],
                    "error": {k: float(np.mean(v)) for k, v in table.items() if not k.startswith("share")},
                    "deviation": {k: float(np.std(v, ddof=1)) for k, v in table.items() if not k.startswith("share")},
                })  # fmt: skip
            print(law, tau, round(time.perf_counter() - start), "s", flush=True)
    result = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "seconds": round(time.perf_counter() - start),
        "seeds": SEEDS,
        "rows": ROWS,
        "metric": "Frobenius, centred, up to a multiple of P",
        "cells": cells,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "step_design.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "step_design.md").write_text(markdown(result))


def verdicts(cells):
    """How often each design is worse than each baseline, beyond two standard errors and by how much at most."""
    lines = ["| design | baseline | worse in | most (ratio) | where worse |", "| --- | --- | --- | --- | --- |"]
    baselines = ("sign, +-1", "3 levels, least d0 gap", "sign, d1 matched")
    designs = [name for name in cells[0]["error"] if name not in baselines]
    designs = [*designs, *(n for n in ("2 levels folded", "3 levels folded") if n not in designs)]
    for baseline in baselines:
        for name in designs:
            seen = [c for c in cells if name in c["error"]]
            margin = [2 * np.hypot(c["deviation"][name], c["deviation"][baseline]) / np.sqrt(len(SEEDS)) for c in seen]
            worse = [c for c, e in zip(seen, margin, strict=True) if c["error"][name] > c["error"][baseline] + e]
            ratio = max(c["error"][name] / c["error"][baseline] for c in seen)
            where = sorted({f"{c['law']} tau {c['tau']}" for c in worse})
            lines.append(f"| {name} | {baseline} | {len(worse)} of {len(seen)} | {ratio:.2f} | {', '.join(where)} |")
    return lines


def markdown(result):
    cells = result["cells"]
    lines = [
        "# Kernel error of designed step codes",
        "",
        f"`benchmarks/step_design.py`, {result['date']}, {len(SEEDS)} seeds, {ROWS} rows, {result['seconds']} s.",
        "Target 'rbf'; relative Frobenius error of the centred kernel, up to a multiple of P, mean over seeds",
        "(that multiple is taken out of the target too, so that a nearly diagonal kernel does not flatter).",
        "*mixture*: TRF Figure 2, p = 512. *decaying*: Gaussian rows of effective dimension 28.",
        "",
    ]
    for law in ("mixture", "decaying"):
        own = [c for c in cells if c["law"] == law]
        names = list(dict.fromkeys(name for c in own[::-1] for name in c["error"]))
        lines += [f"## {law}", "", "| code | " + " | ".join(f"tau {c['tau']}, m {c['m']}" for c in own) + " |"]
        lines.append("| --- |" + " --- |" * len(own))
        for name in names:
            shown = [f"{c['error'][name]:.3f}" if name in c["error"] else "" for c in own]
            lines.append(f"| {name} | " + " | ".join(shown) + " |")
        lines.append("")
    lines += ["## Worse than a baseline, beyond two standard errors", "", *verdicts(cells), ""]
    lines += NOTES
    return "\n".join(lines) + "\n"


NOTES = [
    "## What this says",
    "",
    "- Against the plain sign code (+-1, no amplitude) no design is worse anywhere. *Least d0 gap* is the three-level",
    "  code that matches (d1, d2) with the least |lambda|: the three-level code of least variance is never worse than",
    "  it (up to tau = 1 the two nearly coincide), and at tau = 4 has 0.37 to 0.40 of its error.",
    "- Against a sign code whose amplitude matches d1 (the design for the same target with d2 = 0) codes that match d2",
    "  as well ARE worse: three levels in 23 of 40 cells, all at tau >= 1. Two reasons. (1) Noise: by the Hermite",
    "  bound a code that matches both moments has a variance of at least tau d1 + 2 tau^2 d2, for 'rbf'",
    "  tau e^-tau (1 + tau/2); the sign code with the same d1 has (pi/2) tau e^-tau. Beyond tau = 1.15 no matching",
    "  code can have less noise. (2) Bias: the equivalence holds as p grows. At finite p rare thresholds bring large",
    "  coefficients of third and higher order, which d1 and d2 do not see; folded codes have smaller ones.",
    "- Remedies tested. A share of d2 chosen on other rows of the same law (the three-level design for d1 and",
    "  share^2 d2, share 0 to 1, by expected error at the m in question) is never worse than the matched sign code",
    "  beyond two standard errors (ratio at most 1.03). The kind chosen in the same way (three levels, or three levels",
    "  periodic) is the best or near it once m resolves the kernel: at effective dimension 28, m >= 10,000 for tau 1",
    "  and 2, m = 30,000 for tau 4.",
    "- Folded codes keep (d1, d2) exactly and lower the error of monotone ones at tau >= 1, up to 3.6 times at tau 4;",
    "  so do free four-level codes at tau >= 2.",
]

if __name__ == "__main__":
    main()
