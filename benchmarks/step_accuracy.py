"""Accuracy of classifiers on designed step codes: is it as their kernel errors have it.

Ridge classifiers on Hadamard features in every kind of code designed for the Gaussian kernel, and in the sign code
whose amplitude matches d1, which has the smaller kernel error at few features.

    python benchmarks/step_accuracy.py        # about a minute on two cores
"""

from __future__ import annotations

import warnings

import _runner

_runner.quiet_blas()

import numpy as np
import projections as laws

from nanogram import FeatureMap, FourierFeatures, theory

TAUS, SEEDS, COLUMNS = (1.0, 4.0, 14.0), (0, 1, 2), 2048
laws.TRAIN, laws.HELDOUT, laws.TEST = 10_000, 2_000, 8_000
SETS = ("MNIST, p = 784", "CovType, p = 54")


def codes_at(tau):
    """The codes under test: name -> design."""
    d0, d1, _ = theory.moments("rbf", tau)
    codes = {"sign, d1 matched": theory.design_step_code((d0, d1, 0.0), tau, 2)}
    kinds = [("monotone", 3)] * (tau <= 4) + [("folded", 3), ("free", 4), ("periodic", 2), ("periodic", 3)]
    return codes | {f"{n} levels, {kind}": theory.design_step_code("rbf", tau, n, kind=kind) for kind, n in kinds}


def measured(rows, tau):
    """Test accuracy of each code and seed, alpha by heldout rows."""
    found = {}
    for seed in SEEDS:
        parts = laws.split(rows, seed)
        gamma = tau * FourierFeatures(8, random_state=0).fit(parts.X[0]).gamma_
        for name, design in codes_at(tau).items():
            maps = FeatureMap("hadamard", design.activation, design.to_code(), COLUMNS, gamma, random_state=seed)
            Z = maps.fit_transform(parts.X[0])
            normal = laws.Normal(Z, parts.y[0], int(rows.y.max()) + 1)
            heldout, test = maps.transform(parts.X[1]), maps.transform(parts.X[2])
            alpha = max(laws.ALPHAS, key=lambda one: normal.accuracy(one, heldout, parts.y[1]))
            found.setdefault(name, []).append(normal.accuracy(alpha, test, parts.y[2]))
    return found


def main():
    warnings.simplefilter("ignore", theory.RareFiringWarning)
    data = [rows for rows in laws.problems() if rows.name in SETS]
    cells = [(rows.name, tau, measured(rows, tau)) for rows in data for tau in TAUS]
    names = list(cells[0][2])
    table = []
    for name in names:
        shown = []
        for _, _, found in cells:
            values = 100 * np.array(found.get(name, [np.nan] * len(SEEDS)))
            error = values.std(ddof=1) / np.sqrt(len(SEEDS))
            shown.append("" if np.isnan(error) else f"{values.mean():.1f} ± {error:.1f}")
        table.append([name, *shown])
    header = ["code", *(f"{data.split(',')[0]}, tau {tau:g}" for data, tau, _ in cells)]
    text = (
        f"Accuracy in percent of ridge classifiers, {laws.TRAIN:,} training rows, {COLUMNS:,} Hadamard features, ±\n"
        f"standard error over {len(SEEDS)} seeds. Increasing codes of three levels are out of range at tau = 14.\n\n"
    )
    record = {"cells": [{"data": data, "tau": tau, "accuracy": found} for data, tau, found in cells], "m": COLUMNS}
    _runner.write("step_accuracy", record, text + _runner.markdown_table(header, table))


if __name__ == "__main__":
    main()
