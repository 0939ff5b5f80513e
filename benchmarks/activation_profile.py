"""Whether `theory.activation_profile` finds the activation for spectral clustering without labels.

For each data set the table of SPECTRUM (Tables 4, 5) is measured: k-means on the two leading eigenvectors of the
centred kernel of 128 rows, half of each class, mean accuracy over 50 draws of rows, for each activation; once with 32
random features, as in the paper, and once with the exact kernel (features without number). The rule sees rows alone,
and its pick counts as right when it is within 2 points of the best activation. FINDING are the sets on which the rule
was made; CHECKING those it met only when it was finished.

    python benchmarks/activation_profile.py finding     # some minutes; results/activation_profile_finding.*
    python benchmarks/activation_profile.py checking
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import _runner

_runner.quiet_blas()

import numpy as np
from sklearn.cluster import KMeans

from nanogram import datasets, theory
from nanogram.activations import make_activation
from nanogram.theory._clustering import leading_eigenvectors
from nanogram.theory.activation_profile import TABLE

#: UCI sets: all binary ones of 20 columns or more with 100 rows or more in the smaller class, by turns in the alphabet.
FINDING = (
    "mixture means 5",
    "mixture covariances 15",
    "mixture both 4 4",
    "mixture means 3.5",
    "mnist 6 8",
    "mnist 3 5",
    "fashion 0 9",
    "fashion 2 4",
    "eeg BE",
    "uci breast-cancer-wisc-diag",
    "uci cylinder-bands",
    "uci horse-colic",
    "uci mushroom",
    "uci oocytes_merluccius_nucleus_4d",
    "uci ringnorm",
    "uci spect",
    "uci twonorm",
)
CHECKING = (
    "mixture means 4",
    "mixture covariances 10",
    "mixture both 5 15",
    "mixture shapes",
    "mnist 0 1",
    "mnist 4 9",
    "mnist 7 9",
    "fashion 0 1",
    "fashion 5 7",
    "fashion 3 8",
    "eeg AE",
    "eeg DE",
    "uci chess-krvkp",
    "uci hill-valley",
    "uci ionosphere",
    "uci musk-1",
    "uci oocytes_trisopterus_nucleus_2f",
    "uci spambase",
    "uci statlog-german-credit",
)
ROWS, DRAWS, FEATURES, TOLERANCE = 128, 50, 32, 0.02


def load(name):
    """Rows and labels 0, 1."""
    kind, *rest = name.split()
    if kind == "mixture" and rest[0] == "shapes":
        p = 256
        stripes = np.where(np.arange(p) % 2, 0.25, 1.75)
        X, y, *_ = datasets.make_gaussian_mixture(2000, p, covariances=[stripes, stripes[::-1].copy()], random_state=1)
    elif kind == "mixture":
        numbers = [float(r) for r in rest[1:]]
        sizes = {"means": {"mean": numbers[0]}, "covariances": {"spread": numbers[0]}}
        sizes["both"] = {"mean": numbers[0], "spread": numbers[-1]}
        means, covariances = datasets.mixture_parameters(256, rest[0], **sizes[rest[0]])
        X, y, *_ = datasets.make_gaussian_mixture(2000, 256, means=means, covariances=covariances, random_state=1)
    elif kind in ("mnist", "fashion"):
        fetch = datasets.fetch_mnist if kind == "mnist" else datasets.fetch_fashion_mnist
        bunch = fetch(classes=[int(r) for r in rest])
        X, y = bunch.X_train, bunch.y_train
    elif kind == "eeg":
        bunch = datasets.fetch_eeg(sets=rest[0])
        X, y = bunch.X_train, bunch.y_train
    else:
        bunch = datasets.fetch_uci(rest[0], mismatch="standardize")
        X, y = bunch.X, bunch.y
    X = np.asarray(X, dtype=np.float64)
    X = X - X.mean(axis=0)
    return X / np.sqrt(np.mean(np.einsum("ij,ij->i", X, X))), np.unique(y, return_inverse=True)[1]


def accuracy(kernel, labels, seed):
    """Of k-means on the two leading eigenvectors, up to the names of clusters."""
    names = KMeans(2, n_init=5, random_state=seed).fit_predict(leading_eigenvectors(kernel, 2)[1])
    right = float(np.mean(names == labels))
    return max(right, 1 - right)


def table(X, y, activations=TABLE):
    """Accuracies, (draws,) for each activation: with 32 features, and with the exact kernel; paired draws."""
    found = {protocol: {name: np.empty(DRAWS) for name in activations} for protocol in ("features", "exact")}
    size = min(ROWS // 2, int(np.bincount(y).min()))
    for draw in range(DRAWS):
        rng = np.random.default_rng([draw, 11])
        chosen = np.concatenate([rng.permutation(np.flatnonzero(y == a))[:size] for a in (0, 1)])
        rows, labels = X[chosen], y[chosen]
        projected = rows @ rng.standard_normal((X.shape[1], FEATURES))
        dots = rows @ rows.T
        squares = np.diag(dots)
        for name in activations:
            activation = make_activation(name)
            exact = activation.kernel_from_dots(squares, dots, squares)
            features = activation(projected)
            found["exact"][name][draw] = accuracy(exact, labels, draw)
            found["features"][name][draw] = accuracy(features @ features.T / FEATURES, labels, draw)
    return found


def measure(name):
    """One set: the table, the rule's pick without labels, the pick with labels, SPECTRUM's norms."""
    X, y = load(name)
    start = time.perf_counter()
    profile = theory.activation_profile(X, random_state=5)
    seconds = time.perf_counter() - start
    labelled = theory.activation_profile(X, y, random_state=5)
    found = table(X, y)
    record = {
        "rows": len(X),
        "columns": X.shape[1],
        "pick": profile.activation,
        "dominant": profile.dominant,
        "scores": profile.scores,
        "errors": profile.errors,
        "pick_with_labels": labelled.activation,
        "scores_with_labels": labelled.scores,
        "dominant_with_labels": labelled.dominant,
        "norms": labelled.norms,
        "leaky": profile.leaky_relu.a_minus,
        "seconds": seconds,
    }
    for protocol, values in found.items():
        means = {key: float(v.mean()) for key, v in values.items()}
        best = max(means, key=lambda key: means[key])
        apart = values[best] - values[profile.activation]
        record[protocol] = {
            "accuracy": means,
            "best": best,
            "behind": means[best] - means[profile.activation],
            "error": float(apart.std(ddof=1) / np.sqrt(DRAWS)),
            "behind_with_labels": means[best] - means[labelled.activation],
        }
    return record


def table_of(records):
    """Markdown."""
    rows = []
    for name, r in records.items():
        cells = [name, r["pick"], r["dominant"]]
        for protocol in ("features", "exact"):
            p = r[protocol]
            cells.append(f"{100 * p['accuracy'][r['pick']]:.1f} / {100 * p['accuracy'][p['best']]:.1f} {p['best']}")
            cells.append(f"{100 * p['behind']:.1f} +- {100 * p['error']:.1f}")
        cells.append(f"{r['pick_with_labels']}, {100 * r['features']['behind_with_labels']:.1f}")
        cells.append(f"{r['norms'][0]:.3g} / {r['norms'][1]:.3g}")
        rows.append(cells)
    header = ["set", "pick", "dominant", "32 features: pick / best", "behind", "exact: pick / best", "behind"]
    header += ["with labels, behind", "means / covariances"]
    counts = [sum(r[protocol]["behind"] <= TOLERANCE for r in records.values()) for protocol in ("features", "exact")]
    return (
        f"Within 2 points of the best: {counts[0]} of {len(records)} with 32 features, {counts[1]} of {len(records)} "
        f"with the exact kernel.\n\n{_runner.markdown_table(header, rows)}"
    )


def main():
    """Measure and write, set by set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("finding", "checking"))
    parser.add_argument("--only", nargs="*", help="names of sets")
    parser.add_argument("--out", type=Path, default=_runner.RESULTS)
    options = parser.parse_args()
    records = {}
    for name in options.only or {"finding": FINDING, "checking": CHECKING}[options.part]:
        records[name] = measure(name)
        record = {"part": options.part, "sets": records, "tolerance": TOLERANCE}
        _runner.write(f"activation_profile_{options.part}", record, table_of(records), options.out)


if __name__ == "__main__":
    main()
