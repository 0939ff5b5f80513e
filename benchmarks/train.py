"""Training to convergence: seconds, peak memory, test error, against scikit-learn's pipelines, each in a fresh process.

Every run of the tables is a process of its own that loads the data, fits the feature map, encodes, trains and predicts,
so that its peak memory is its own and nothing is warm; runs follow one another and never overlap. Seconds count from
rows in memory to a trained model; the error is that of the test rows, encoding and prediction included in "predict".
Peak memory is the kernel's high-water mark of the process (VmHWM); "above" is without the interpreter, the imported
libraries and the rows themselves.

scikit-learn's penalties are the best of a grid on heldout rows, chosen beforehand and not counted in its time; ours are
set alike, or chosen in the fit where the table says GCV.

    python benchmarks/train.py                        # everything: about an hour on two cores
    python benchmarks/train.py --only mnist/ --keep   # some runs; the others' figures stay as they are
    python benchmarks/train.py --list
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import _runner

_runner.quiet_blas()

import numpy as np

NAME = "train"
#: A run that takes longer is stopped and said to have been.
TIMEOUT_S = 1500


@dataclass(frozen=True)
class Run:
    """One line of a table: features, model, and how both are made."""

    data: str
    side: str  # "ours" or "peer"
    features: str
    model: str
    make: Callable[[], tuple[Any, Any]] = field(repr=False)
    note: str = ""

    @property
    def name(self) -> str:
        """What --only matches."""
        return f"{self.data}/{self.side}/{self.features} + {self.model}"


def ternary(m: int, gamma: Any, levels: int = 3, **more: Any) -> Any:
    from nanogram import TernaryFeatures

    return TernaryFeatures(n_components=m, gamma=gamma, levels=levels, random_state=0, **more)


def fourier(m: int, gamma: Any, bits: int | None, **more: Any) -> Any:
    from nanogram import FourierFeatures

    return FourierFeatures(n_components=m, gamma=gamma, bits=bits, random_state=0, **more)


def sampler(m: int, gamma: float) -> Any:
    from sklearn.kernel_approximation import RBFSampler

    return RBFSampler(n_components=m, gamma=gamma, random_state=0)


def landmarks(m: int, gamma: float) -> Any:
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(n_components=m, gamma=gamma, random_state=0)


def ours(name: str, **settings: Any) -> Any:
    import nanogram

    return getattr(nanogram, name)(**settings)


def peer(name: str, **settings: Any) -> Any:
    from sklearn import ensemble, linear_model, svm

    module = next(one for one in (linear_model, svm, ensemble) if hasattr(one, name))
    return getattr(module, name)(**settings)


def boosting(**settings: Any) -> Any:
    return peer("HistGradientBoostingClassifier", random_state=0, **settings)


def runs() -> list[Run]:
    """All lines, in the order of the tables."""
    found: list[Run] = []

    def add(
        data: str, side: str, features: str, model: str, make: Callable[[], tuple[Any, Any]], note: str = ""
    ) -> None:
        found.append(Run(data, side, features, model, make, note))

    covtype(add)
    mnist(add)
    small(add)
    return found


def covtype(add: Callable[..., None]) -> None:
    """Binary CovType, 418,329 training rows.

    gamma, C and alpha of either side have the least heldout error of a grid (80,000 and 100,000 training rows); with
    more features a narrower kernel pays.
    """
    few, many = 0.2, 0.6
    for m in (1_000, 2_000):
        add("covtype", "peer", f"RBFSampler({m:,})", "LogisticRegression(lbfgs)",
            lambda m=m: (sampler(m, few), peer("LogisticRegression", C=1_000.0, max_iter=3_000)))  # fmt: skip
    add("covtype", "peer", "RBFSampler(2,000)", "RidgeClassifier",
        lambda: (sampler(2_000, 0.1), peer("RidgeClassifier", alpha=0.001)))  # fmt: skip
    add("covtype", "peer", "RBFSampler(2,000)", "SGDClassifier(log_loss)",
        lambda: (sampler(2_000, few), peer("SGDClassifier", loss="log_loss", alpha=1e-7, random_state=0)))  # fmt: skip
    add("covtype", "peer", "RBFSampler(1,000)", "LinearSVC",
        lambda: (sampler(1_000, few), peer("LinearSVC", C=10.0, dual=False, random_state=0)))  # fmt: skip
    add("covtype", "peer", "Nystroem(1,000)", "LogisticRegression(lbfgs)",
        lambda: (landmarks(1_000, few), peer("LogisticRegression", C=1_000.0, max_iter=3_000)))  # fmt: skip
    for n in (100, 1_000):
        add("covtype", "peer", "rows", f"HistGradientBoosting({n:,})",
            lambda n=n: (None, boosting(max_iter=n, early_stopping=False)))  # fmt: skip
    add("covtype", "ours", "float32 Fourier(2,000)", "CodeLogisticRegression",
        lambda: (fourier(2_000, few, None), ours("CodeLogisticRegression", C=1_000.0)))  # fmt: skip
    add("covtype", "ours", "ternary(5,000)", "CodeLogisticRegression",
        lambda: (ternary(5_000, 0.3), ours("CodeLogisticRegression", C=10.0)))  # fmt: skip
    for m in (20_000, 50_000):
        add("covtype", "ours", f"ternary({m:,})", "CodeLogisticRegression",
            lambda m=m: (ternary(m, many), ours("CodeLogisticRegression", C=10.0)))  # fmt: skip
    add("covtype", "ours", "4 levels(20,000)", "CodeLogisticRegression",
        lambda: (ternary(20_000, many, 4), ours("CodeLogisticRegression", C=10.0)))  # fmt: skip
    add("covtype", "ours", "ternary(5,000)", "CodeLinearSVC",
        lambda: (ternary(5_000, 0.3), ours("CodeLinearSVC", C=10.0)))  # fmt: skip
    add("covtype", "ours", "ternary(10,000)", "CodeRidgeClassifier (GCV)",
        lambda: (ternary(10_000, many), ours("CodeRidgeClassifier")))  # fmt: skip


def mnist(add: Callable[..., None]) -> None:
    """MNIST, 60,000 training rows; the kernel's width by 10,000 heldout training rows, for both sides."""
    for m in (8_192, 16_384):
        add("mnist", "peer", f"RBFSampler({m:,})", "RidgeClassifier",
            lambda m=m: (sampler(m, of_tau(2.0)), peer("RidgeClassifier", alpha=0.1)))  # fmt: skip
    add("mnist", "peer", "RBFSampler(4,096)", "LogisticRegression(lbfgs)",
        lambda: (sampler(4_096, of_tau(2.0)), peer("LogisticRegression", C=100.0, max_iter=1_000)))  # fmt: skip
    add("mnist", "ours", "float32 Fourier(8,192)", "CodeRidgeClassifier(cg)",
        lambda: (fourier(8_192, of_tau(2.0), None), ours("CodeRidgeClassifier", alpha=0.25, solver="cg")))  # fmt: skip
    for m in (8_192, 16_384, 40_960):
        add("mnist", "ours", f"2-bit Fourier({m:,})", "CodeRidgeClassifier(cg)",
            lambda m=m: (fourier(m, of_tau(2.0), 2), ours("CodeRidgeClassifier", alpha=0.25, solver="cg")))  # fmt: skip
    loose = {"alpha": 0.25, "solver": "cg", "tol": 0.03}  # as accurate on heldout rows as 1e-3
    add("mnist", "ours", "2-bit Fourier(12,288)", "CodeRidgeClassifier(cg, tol=.03)",
        lambda: (fourier(12_288, of_tau(2.0), 2), ours("CodeRidgeClassifier", **loose)))  # fmt: skip
    add("mnist", "ours", "ternary(16,384)", "CodeRidgeClassifier(cg)",
        lambda: (ternary(16_384, of_tau(2.0)), ours("CodeRidgeClassifier", alpha=0.5, solver="cg")))  # fmt: skip
    for levels, name in ((3, "ternary"), (2, "1 bit")):
        add("mnist", "ours", f"{name}(8,192)", "CodeRidgeClassifier (GCV)",
            lambda levels=levels: (ternary(8_192, "scale", levels), ours("CodeRidgeClassifier")))  # fmt: skip
    add("mnist", "ours", "2-bit Fourier(8,192)", "CodeLogisticRegression",
        lambda: (fourier(8_192, of_tau(2.0), 2), ours("CodeLogisticRegression", C=10.0)))  # fmt: skip
    add("mnist", "peer", "rows", "HistGradientBoosting(100)", lambda: (None, boosting(early_stopping=False)))


def of_tau(tau: float) -> float:
    """The gamma that scales centred training rows to this mean squared norm; 10,000 of them say it."""
    from nanogram.theory import estimate_tau

    return tau / (2.0 * float(estimate_tau(load("mnist")["train"][0][:10_000])))


def small(add: Callable[..., None]) -> None:
    """a9a (123 binary columns) and ijcnn1 (22 columns); settings by heldout rows of the training part, as above."""
    settings = {  # gamma and C or alpha: peer's logistic and ridge, ours
        "a9a": ((0.03, 100.0), (0.01, 0.01), (0.1, 1.0), 0.01),
        "ijcnn1": ((1.0, 10_000.0), (1.0, 0.01), (1.0, 100.0), 1.0),
    }
    for data, (logistic, ridge, own, g) in settings.items():
        add(data, "peer", "RBFSampler(2,000)", "LogisticRegression(lbfgs)",
            lambda s=logistic: (sampler(2_000, s[0]), peer("LogisticRegression", C=s[1], max_iter=3_000)))  # fmt: skip
        add(data, "peer", "Nystroem(1,000)", "RidgeClassifier",
            lambda s=ridge: (landmarks(1_000, s[0]), peer("RidgeClassifier", alpha=s[1])))  # fmt: skip
        add(data, "peer", "rows", "HistGradientBoosting(100)",
            lambda: (None, boosting(early_stopping=False)))  # fmt: skip
        add(data, "ours", "ternary(8,192)", "CodeLogisticRegression",
            lambda s=own: (ternary(8_192, s[0]), ours("CodeLogisticRegression", C=s[1])))  # fmt: skip
        add(data, "ours", "ternary(8,192)", "CodeRidgeClassifier (GCV)",
            lambda g=g: (ternary(8_192, g), ours("CodeRidgeClassifier")))  # fmt: skip


# ---------------------------------------------------------------- one run, in its own process


def load(name: str) -> dict[str, tuple[Any, Any]]:
    """Training and test rows; float32 or uint8, as every pipeline takes them."""
    from nanogram import datasets

    bunch = datasets.fetch(name, download=False)
    train = (bunch.X_train, bunch.y_train)
    if "X_heldout" in bunch:
        return {"train": train, "heldout": (bunch.X_heldout, bunch.y_heldout), "test": (bunch.X_test, bunch.y_test)}
    return {"train": train, "test": (bunch.X_test, bunch.y_test)}


def one(run: Run) -> dict[str, Any]:
    """Fit, encode, train, predict."""
    for module in (
        "nanogram",
        "sklearn.ensemble",
        "sklearn.kernel_approximation",
        "sklearn.linear_model",
        "sklearn.svm",
    ):
        importlib.import_module(module)  # now, so that no run's time or memory holds them
    parts = load(run.data)
    X, y = parts["train"]
    X_test, y_test = parts["test"]
    features, model = run.make()
    if run.side == "peer" and X.dtype.kind != "f":  # scikit-learn would make doubles of them
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    before = _runner.resident("VmRSS")
    times = {}
    start = time.perf_counter()
    Z = X
    if features is not None:
        Z = features.fit_transform(X)
    times["encode"] = time.perf_counter() - start
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(Z, y)
    times["train"] = time.perf_counter() - start
    nbytes = int(getattr(Z, "nbytes", 0)) if features is not None else 0
    shape = Z.shape
    training_peak = _runner.resident("VmHWM")
    del Z
    start = time.perf_counter()
    # In parts, so that a float test matrix does not make the peak.
    wrong = 0
    for low in range(0, len(X_test), 20_000):
        part = X_test[low : low + 20_000]
        wrong += int(
            np.sum(model.predict(part if features is None else features.transform(part)) != y_test[low : low + 20_000])
        )
    times["predict"] = time.perf_counter() - start
    iterations = getattr(model, "n_iter_", None)
    return {
        "seconds": times,
        "error": wrong / len(y_test),
        "n_test": len(y_test),
        "rows": shape[0],
        "features_bytes": nbytes,
        "peak": _runner.resident("VmHWM"),
        "training_peak": training_peak,
        "before": before,
        "iterations": None if iterations is None else np.max(iterations),
        "alpha": np.max(model.alpha_) if hasattr(model, "alpha_") else None,
        "warnings": sorted({f"{w.category.__name__}: {str(w.message)[:160]}" for w in caught}),
    }


# ---------------------------------------------------------------- all of them


def started(run: Run) -> dict[str, Any]:
    """The run in a fresh process."""
    command = [sys.executable, __file__, "--one", run.name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=os.environ)
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {TIMEOUT_S} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:300]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def table(data: str, results: dict[str, dict[str, Any]], listed: list[Run]) -> str:
    """One data set."""
    header = [
        "features + model",
        "encode, s",
        "train, s",
        "both, s",
        "test error, %",
        "features, MB",
        "peak, MB",
        "above, MB",
        "iterations",
    ]
    rows = []
    for run in listed:
        if run.data != data or run.name not in results:
            continue
        r = results[run.name]
        label = f"{'**nanogram** ' if run.side == 'ours' else ''}{run.features} + {run.model}"
        if "failed" in r:
            rows.append([f"{label}: {r['failed']}", *[""] * 8])
            continue
        s = r["seconds"]
        deviation = 100 * (r["error"] * (1 - r["error"]) / r["n_test"]) ** 0.5
        star = " (not converged)" if any("Convergence" in w for w in r["warnings"]) else ""
        rows.append([
            label, f"{s['encode']:.1f}", f"{s['train']:.1f}{star}", f"{s['encode'] + s['train']:.1f}",
            f"{100 * r['error']:.2f} ± {deviation:.2f}", f"{r['features_bytes'] / 1e6:,.0f}", f"{r['peak'] / 1e6:,.0f}",
            f"{(r['peak'] - r['before']) / 1e6:,.0f}", "" if r["iterations"] is None else f"{r['iterations']}",
        ])  # fmt: skip
    return f"## {data}\n\n{_runner.markdown_table(header, rows)}\n" if rows else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="runs whose name contains this (may be repeated)")
    parser.add_argument("--keep", action="store_true", help="keep the figures of other runs in the result file")
    parser.add_argument("--list", action="store_true", help="print the names of the runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    listed = runs()
    if options.list:
        print("\n".join(run.name for run in listed))
        return
    if options.one:
        run = next(run for run in listed if run.name == options.one)
        print(json.dumps(one(run), default=lambda v: v.item()))
        return
    path = _runner.RESULTS / f"{NAME}.json"
    results = json.loads(path.read_text(encoding="utf-8"))["results"] if options.keep and path.exists() else {}
    for run in listed:
        if options.only and not any(part in run.name for part in options.only):
            continue
        print(run.name, flush=True)
        results[run.name] = started(run) | {"date": time.strftime("%Y-%m-%d")}
        print("   ", results[run.name], flush=True)
    known = {run.name for run in listed}
    results = {name: r for name, r in results.items() if name in known}
    notes = "Error bars of the test error are binomial standard errors. " + (
        __doc__.split("\n\n")[1].replace("\n", " ") + "\n\n"
    )
    text = notes + "".join(table(data, results, listed) for data in dict.fromkeys(run.data for run in listed))
    _runner.write(NAME, {"results": results}, text)


if __name__ == "__main__":
    main()
