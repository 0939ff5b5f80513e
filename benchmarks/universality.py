"""Universality of K~ (TRF Theorem 1): kernels of four laws of W against the equivalent, as p grows.

Rows are those of TRF Figure 2 (two classes, means 4 apart in one coordinate, C_2 = (1 + 4/sqrt p) I), n = p/2. Kernels
are averages of 2 p^2 features with entries of W from each law; for normal entries the exact kernel stands beside, which
shows what the averaging adds. Reported: |K - K~|/|K| after centring, in spectral norm, the mean over draws of the rows,
and the rate of ``error ~ p^-rate`` by least squares with its standard error.

    python benchmarks/universality.py          # 3 minutes of CPU; writes benchmarks/results/universality.*
"""

from __future__ import annotations

import argparse
from pathlib import Path

import _runner

_runner.quiet_blas()

import numpy as np

from nanogram import datasets, kernels, theory
from nanogram.activations import make_activation

ACTIVATIONS = ("relu", "sign", "abs", "erf")
SIZES = (64, 128, 256, 512)
DRAWS = 4
BLOCK = 4096
LAWS = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape, dtype=np.float32),
    "student_t(7)": lambda rng, shape: (rng.standard_t(7, shape) * np.sqrt(5 / 7)).astype(np.float32),
    "rademacher": lambda rng, shape: (2 * rng.integers(0, 2, shape, dtype=np.int8) - 1).astype(np.float32),
    "ternary(0.9)": lambda rng, shape: (
        (rng.random(shape, dtype=np.float32) > 0.9) * (2 * rng.integers(0, 2, shape, dtype=np.int8) - 1) * np.sqrt(10)
    ).astype(np.float32),
}


def averages(X, law, m, seed):
    """Z Z^T / m for each activation, from the same projections."""
    rng = np.random.default_rng([seed, 17])
    found = {name: np.zeros((len(X), len(X))) for name in ACTIVATIONS}
    rows = X.astype(np.float32)
    for start in range(0, m, BLOCK):
        projected = rows @ LAWS[law](rng, (X.shape[1], min(BLOCK, m - start)))
        for name in ACTIVATIONS:
            features = np.asarray(make_activation(name)(projected), dtype=np.float32)
            # A constant shift of the activation is taken out by P; it would cost float32 its digits.
            features -= features.mean(axis=0)
            found[name] += features @ features.T
    return {name: K / m for name, K in found.items()}


def measure(sizes):
    """Relative errors, (sizes, draws), for each activation and law."""
    errors = {name: {law: np.empty((len(sizes), DRAWS)) for law in ("exact", *LAWS)} for name in ACTIVATIONS}
    for i, p in enumerate(sizes):
        means, covariances = datasets.mixture_parameters(p, "both", mean=4.0, spread=4.0)
        for draw in range(DRAWS):
            X, y, *_ = datasets.make_gaussian_mixture(
                p // 2, p, means=means, covariances=covariances, random_state=draw
            )
            s = theory.gmm_statistics(X, y, means=means, covariances=covariances)
            X = X - X.mean(axis=0)
            K = {law: averages(X, law, 2 * p * p, draw) for law in LAWS}
            K["exact"] = {name: kernels.of_activation(name, X) for name in ACTIVATIONS}
            for name in ACTIVATIONS:
                equivalent = theory.equivalent_kernel(X, y, name, statistics=s)
                for law in errors[name]:
                    errors[name][law][i, draw] = theory.equivalent_error(K[law][name], equivalent)
        print(p, {name: {law: round(float(e[i].mean()), 4) for law, e in r.items()} for name, r in errors.items()})
    return errors


def main():
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=_runner.RESULTS)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()
    errors = measure(options.sizes)
    rows, record = [], {}
    for name, by_law in errors.items():
        record[name] = {}
        for law, values in by_law.items():
            rate = theory.fitted_rate(np.repeat(options.sizes, DRAWS), values.ravel())
            record[name][law] = {"errors": values.tolist(), "rate": rate.exponent, "rate_error": rate.error}
            cells = [f"{v:.4f}" for v in values.mean(axis=1)]
            rows.append([f"{name}, {law}", *cells, f"{rate.exponent:.2f} +- {rate.error:.2f}"])
    text = _runner.markdown_table(["distance", *(f"p = {p}" for p in options.sizes), "rate"], rows)
    _runner.write("universality", {"sizes": list(options.sizes), "draws": DRAWS, "errors": record}, text, options.out)


if __name__ == "__main__":
    main()
