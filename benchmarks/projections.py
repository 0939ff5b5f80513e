"""What a law of projections costs in accuracy and in time: the evidence behind ``projection="auto"``.

Accuracy: ridge classifiers on the values that codes decode to (normal equations from the exact Gram matrix of the
codes), of every law with every kind of feature, on nine data sets. For each seed the rows are split anew (the same
split for all laws) and every law draws anew, so that differences to dense Gaussian projections are paired, and their
standard error over seeds covers both. Time: `transform` of 2,000 rows to 4,096 columns, laws in turn.

    python benchmarks/projections.py                                # all of it; twenty minutes on two cores
    python benchmarks/projections.py --only time                    # the rest stays as in results/projections.json
    python benchmarks/projections.py --only accuracy --data MNIST
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict
from typing import Any, NamedTuple

import _runner

_runner.quiet_blas()

import _law_tables
import numpy as np
import scipy.linalg
import scipy.sparse as sp

from nanogram import FourierFeatures, TernaryFeatures
from nanogram import datasets as sets
from nanogram.projections import Circulant, Gaussian, Hadamard, Orthogonal, Projection, SparsityWarning, Ternary

TRAIN, HELDOUT, TEST = 20_000, 4_000, 10_000
SEEDS = (0, 1, 2, 3, 4)
#: Columns of features; more on the four sets that the choice is asked for.
COLUMNS, MORE_COLUMNS = 1024, 2048
ALPHAS = (0.01, 0.1, 1.0, 10.0)
TAUS = (1.0, 4.0, 16.0)
TIMED_ROWS, TIMED_COLUMNS, ROUNDS = 2_000, 4_096, 3

LAWS: dict[str, Projection] = {
    "gaussian": Gaussian(),
    "ternary, eps 0 (Rademacher)": Ternary(0.0),
    "ternary, eps .5": Ternary(0.5),
    "ternary, eps .9": Ternary(0.9),
    "hadamard, 1 round": Hadamard(1),
    "hadamard, 2 rounds": Hadamard(2),
    "hadamard, 3 rounds": Hadamard(3),
    "circulant": Circulant(),
    "orthogonal": Orthogonal(),
}


def _fourier(bits: int | None) -> Any:
    return lambda law, m, gamma, seed: FourierFeatures(m, gamma, bits, projection=law, random_state=seed)


def _designed(levels: int) -> Any:
    return lambda law, m, gamma, seed: TernaryFeatures(m, "rbf", gamma, levels, law, random_state=seed)


FEATURES: dict[str, Any] = {
    "ternary": _designed(3),
    "1 bit": _designed(2),
    "Fourier, 2 bits": _fourier(2),
    "Fourier, float": _fourier(None),
}


class Rows(NamedTuple):
    """A classification problem: rows, classes from 0, and the columns of its features."""

    name: str
    X: Any
    y: np.ndarray
    columns: int = COLUMNS


# ---------------------------------------------------------------- data


def _classes(y: Any) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


def _whole(bunch: Any) -> tuple[Any, np.ndarray]:
    return np.concatenate([bunch.X_train, bunch.X_test]), np.concatenate([bunch.y_train, bunch.y_test])


def _standard(X: Any) -> np.ndarray:
    X = np.asarray(X, dtype=np.float64)
    return ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)).astype(np.float32)


def problems() -> list[Rows]:
    """From 784 columns down to 6; a9a as sparse rows."""
    protein = sets.fetch_protein()
    X, y = _whole(protein)
    a9a, incomes = _whole(sets.fetch_a9a())
    covtype = sets.fetch_covtype()
    ijcnn1 = _whole(sets.fetch_ijcnn1())
    uci = {name: sets.fetch_uci(name) for name in ("letter", "magic", "chess-krvk")}
    return [
        Rows("MNIST, p = 784", *_whole(sets.fetch_mnist()), MORE_COLUMNS),
        Rows("Fashion-MNIST, p = 784", *_whole(sets.fetch_fashion_mnist()), MORE_COLUMNS),
        Rows("a9a, p = 123, sparse binary", sp.csr_array(a9a.astype(np.float32)), _classes(incomes), MORE_COLUMNS),
        Rows("CovType, p = 54", covtype.X_train, covtype.y_train, MORE_COLUMNS),
        Rows("ijcnn1, p = 22", ijcnn1[0], _classes(ijcnn1[1])),
        Rows("letter, p = 16", _standard(uci["letter"].X), _classes(uci["letter"].y)),
        Rows("magic, p = 10", _standard(uci["magic"].X), _classes(uci["magic"].y)),
        Rows("protein above its median, p = 9", _standard(X), (y > np.median(y)).astype(int)),
        Rows("chess-krvk, p = 6", _standard(uci["chess-krvk"].X), _classes(uci["chess-krvk"].y)),
    ]


class Split(NamedTuple):
    """Rows of one seed: train, heldout and test, and the classes of each."""

    X: tuple[Any, Any, Any]
    y: tuple[np.ndarray, np.ndarray, np.ndarray]


def split(rows: Rows, seed: int) -> Split:
    """Parts of 20,000, 4,000 and 10,000 rows, or as much in proportion."""
    order = np.random.default_rng([seed, 31]).permutation(len(rows.y))
    share = min(1.0, len(rows.y) / (TRAIN + HELDOUT + TEST))
    ends = np.cumsum([int(count * share) for count in (TRAIN, HELDOUT, TEST)])
    parts = np.split(order[: ends[-1]], ends[:-1])
    train, heldout, test = parts
    return Split(
        (rows.X[train], rows.X[heldout], rows.X[test]), (rows.y[train], rows.y[heldout], rows.y[test])
    )  # fmt: skip


# ---------------------------------------------------------------- ridge classifiers


class Normal:
    """The normal equations of a ridge classifier with an intercept, from the exact Gram matrix of codes."""

    def __init__(self, Z: Any, y: np.ndarray, n_classes: int) -> None:
        goals = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
        if n_classes == 2:
            goals = goals[:, 1:]
        self.n_classes, self.level = n_classes, goals.mean(axis=0)
        self.means = np.asarray(Z.T @ np.full(Z.shape[0], 1 / Z.shape[0]), dtype=np.float64)
        self.gram = np.asarray(Z.gram(), dtype=np.float64)
        self.gram -= Z.shape[0] * np.outer(self.means, self.means)
        self.right = np.asarray(Z.T @ (goals - self.level), dtype=np.float64)

    def solve(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Weights and intercepts."""
        matrix = self.gram.astype(np.float32)
        matrix[np.diag_indices_from(matrix)] += np.float32(alpha)
        factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
        weights = scipy.linalg.cho_solve(factor, self.right.astype(np.float32), check_finite=False)
        return weights, self.level - self.means @ weights

    def accuracy(self, alpha: float, Z: Any, y: np.ndarray) -> float:
        """Share of rows put in their class."""
        weights, intercepts = self.solve(alpha)
        scores = np.asarray(Z @ weights) + intercepts
        guesses = scores[:, 0] > 0 if self.n_classes == 2 else scores.argmax(axis=1)
        return float(np.mean(guesses == y))


def fitted(make: Any, law: Projection, m: int, gamma: float, seed: int, parts: Split, n_classes: int) -> Any:
    """The map, and the normal equations on its training rows."""
    features = make(law, m, gamma, seed).fit(parts.X[0])
    return features, Normal(features.transform(parts.X[0]), parts.y[0], n_classes)


def bandwidth(rows: Rows) -> tuple[float, float]:
    """The tau among 1, 4 and 16 with the best heldout accuracy of Gaussian float features, and its gamma."""
    parts, n_classes = split(rows, 0), int(rows.y.max()) + 1
    unit = FourierFeatures(1, random_state=0).fit(parts.X[0]).gamma_
    scores = {}
    for tau in TAUS:
        features, normal = fitted(FEATURES["Fourier, float"], Gaussian(), 1024, tau * unit, 0, parts, n_classes)
        Z = features.transform(parts.X[1])
        scores[tau] = max(normal.accuracy(alpha, Z, parts.y[1]) for alpha in ALPHAS)
    tau = max(TAUS, key=lambda one: scores[one])
    return tau, tau * unit


def accuracies(rows: Rows) -> list[dict[str, Any]]:
    """Test accuracy of every law, feature and seed."""
    tau, gamma = bandwidth(rows)
    cells, n_classes, alphas = [], int(rows.y.max()) + 1, {}
    for seed in SEEDS:
        parts = split(rows, seed)
        for name, make in FEATURES.items():
            for law_name, law in LAWS.items():
                features, normal = fitted(make, law, rows.columns, gamma, seed, parts, n_classes)
                if name not in alphas:
                    # By heldout rows of the first seed and Gaussian projections, which come first: for all laws.
                    Z = features.transform(parts.X[1])
                    tried = {alpha: normal.accuracy(alpha, Z, parts.y[1]) for alpha in ALPHAS}
                    alphas[name] = max(tried, key=lambda one: tried[one])
                Z = features.transform(parts.X[2])
                cells.append({
                    "data": rows.name, "law": law_name, "feature": name, "m": rows.columns, "seed": seed, "tau": tau,
                    "alpha": alphas[name], "accuracy": normal.accuracy(alphas[name], Z, parts.y[2]),
                })  # fmt: skip
    return cells


# ---------------------------------------------------------------- time


def timed_rows(data: list[Rows]) -> dict[str, Any]:
    """The same data, and wide sparse rows, of which no set is at hand."""
    rng = np.random.default_rng(41)
    made = {rows.name: rows.X[:TIMED_ROWS] for rows in data if "Fashion" not in rows.name}
    a9a = next(name for name in made if name.startswith("a9a"))
    made[a9a.replace("sparse", "dense")] = made[a9a].toarray()
    for p in (1024, 4096):
        X = sp.random_array((TIMED_ROWS, p), density=32 / p, rng=rng, format="csr", dtype=np.float32)
        made[f"random rows of 32 entries, p = {p}, sparse"] = X
    return made


def times(name: str, X: Any) -> list[dict[str, Any]]:
    """Seconds of `transform`, every law in turn."""
    cells = []
    for feature in ("ternary", "Fourier, 2 bits", "Fourier, float"):
        calls, paths = {}, {}
        for law_name, law in LAWS.items():
            if "random" in name and law_name not in ("gaussian", "ternary, eps .9", "hadamard, 3 rounds"):
                continue
            features = FEATURES[feature](law, TIMED_COLUMNS, "scale", 0).fit(X)
            calls[law_name], paths[law_name] = lambda features=features: features.transform(X), features.report_.path
        measured = _runner.interleave(calls, rounds=ROUNDS if feature != "Fourier, float" else 2, cold=False)
        cells += [
            {"data": name, "law": law, "feature": feature, "path": paths[law], "seconds": asdict(timing)}
            for law, timing in measured.items()
        ]
    return cells


# ---------------------------------------------------------------- all of it


def auto_laws(rows: Rows) -> dict[str, str]:
    """What 'auto' is for these rows, with each feature."""
    found = {}
    for feature, make in FEATURES.items():
        law = make("auto", 8, "scale", 0).fit(rows.X[:200]).report_.projection
        assert any(repr(one) == law for one in LAWS.values()), f"{law} was not measured for {rows.name}"
        found[feature] = next(name for name, one in LAWS.items() if repr(one) == law)
    return found


def groups(data: list[Rows]) -> dict[str, list[str]]:
    """Sets alike in what 'auto' can see: the columns, and whether they are sparse."""
    return {
        "Dense rows, p > 8": [rows.name for rows in data if not sp.issparse(rows.X) and rows.X.shape[1] > 8],
        "Dense rows, p <= 8": [rows.name for rows in data if not sp.issparse(rows.X) and rows.X.shape[1] <= 8],
        "Sparse binary rows": [rows.name for rows in data if sp.issparse(rows.X)],
    }


def measure(parts: list[str], wanted: str) -> dict[str, Any]:
    """Figures of the parts and data sets wanted; others as they stand in the results."""
    path = _runner.RESULTS / "projections.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    data = problems()
    record: dict[str, Any] = {
        "laws": list(LAWS),
        "auto": {rows.name: auto_laws(rows) for rows in data},
        "groups": groups(data),
        "settings": {
            "train": TRAIN, "heldout": HELDOUT, "test": TEST, "alphas": ALPHAS, "taus": TAUS,
            "timed_rows": TIMED_ROWS, "timed_columns": TIMED_COLUMNS, "rounds": ROUNDS,
        },
    }  # fmt: skip
    start = time.perf_counter()
    jobs = {
        "time": {name: (times, name, X) for name, X in timed_rows(data).items()},
        "accuracy": {rows.name: (accuracies, rows) for rows in data},
    }
    for part, by_name in jobs.items():
        record[part], record[f"{part}_origin"] = [], {}
        for name, (function, *arguments) in by_name.items():
            if part in parts and wanted in name:
                cells, origin = function(*arguments), _runner.provenance()
                print(part, name, f"{time.perf_counter() - start:.0f} s", flush=True)
            else:
                cells = [cell for cell in old.get(part, []) if cell["data"] == name]
                origin = old.get(f"{part}_origin", {}).get(name)
            record[part] += cells
            record[f"{part}_origin"][name] = origin
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("accuracy", "time"), help="measure this, take the rest from the results")
    parser.add_argument("--data", default="", help="measure sets whose name has this, take the rest from the results")
    parser.add_argument("--tables", action="store_true", help="measure nothing; write the tables anew")
    parser.add_argument("--note", default="", help="what a reader should know of the run")
    given = parser.parse_args()
    warnings.simplefilter("ignore", SparsityWarning)
    parts = [given.only] if given.only else ["accuracy", "time"]
    record = measure([] if given.tables else parts, given.data)
    record["note"] = given.note
    _runner.write("projections", record, _law_tables.markdown(record))


if __name__ == "__main__":
    main()
