"""``python -m nanogram.demo`` (``make demo``): what works today, on real data, in about a minute.

The rows of the packaged sample become random cosine features. The same features are kept as float32 and
as codes of 8, 4, 2, 1.6 and 1 bits; for each the demonstration states the bytes, the time of the products against
NumPy float32, their relative error, and the test accuracy of a ridge classifier trained from the Gram matrix alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from nanogram import CodeMatrix, __version__, ops
from nanogram.codes import Code, FloatCode, StepCode, UniformCode
from nanogram.datasets import load_sample

__all__ = ["main"]

Float32 = npt.NDArray[np.float32]
Array = npt.NDArray[Any]

N_COMPONENTS = 4096
#: Without the compiled core the NumPy reference computes; it is there to be read, not to be fast.
N_COMPONENTS_REFERENCE = 256
#: Ridge penalty as a share of the mean squared norm of a feature column.
PENALTY = 0.01
ROOT2 = float(np.sqrt(2.0))


class Line(NamedTuple):
    """One line of the table."""

    name: str
    megabytes: float
    matvec_ms: float
    rmatvec_ms: float
    gram_ms: float
    error: float
    accuracy: float


def codes_shown() -> dict[str, Code]:
    """The codes of the table, for features in ``+-sqrt(2)``.

    The ternary thresholds and the two-level code cut the arcsine law of a cosine into intervals of equal weight;
    their levels are the means of the intervals.
    """
    third, step = ROOT2 / 2, 3 * ROOT2 * np.sin(np.pi / 3) / np.pi
    ternary = {"levels": [-step, 0.0, step], "thresholds": [-third, third]}
    return {
        "float32": FloatCode("float32"),
        "8 bits": UniformCode(bits=8, low=-ROOT2, high=ROOT2),
        "4 bits": UniformCode(bits=4, low=-ROOT2, high=ROOT2),
        "ternary, 2 bits": StepCode(**ternary, storage="bits"),
        "ternary, base 3": StepCode(**ternary, storage="base3"),
        "1 bit": StepCode(levels=[-2 * ROOT2 / np.pi, 2 * ROOT2 / np.pi], thresholds=[0.0]),
    }


def cosine_features(X: Array, n_components: int, seed: int = 0) -> Float32:
    """``sqrt(2) cos(X W + b)``: random Fourier features of a Gaussian kernel, in plain NumPy.

    The kernel's width is the mean distance of two rows.
    """
    rng = np.random.default_rng(seed)
    rows = X.astype(np.float32)
    sample = rows[rng.choice(len(rows), size=min(500, len(rows)), replace=False)].astype(np.float64)
    width = np.sqrt(2 * sample.var(axis=0).sum())
    W = (rng.standard_normal((X.shape[1], n_components)) / width).astype(np.float32)
    phase = rng.uniform(0, 2 * np.pi, n_components).astype(np.float32)
    return np.asarray(np.float32(ROOT2) * np.cos(rows @ W + phase), dtype=np.float32)


def median_ms(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call, measured in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn:  # the first round warms up
                seconds[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def accuracy(Z: CodeMatrix, gram: Array, y: Array, Z_test: CodeMatrix, y_test: Array) -> float:
    """Test accuracy of one-against-all ridge regression; sees the features through products only.

    Solves ``(Z^T Z + alpha I) A = Z^T T`` for the matrix T of targets +-1.
    """
    classes = np.unique(y)
    targets = np.where(y[:, None] == classes, 1.0, -1.0)
    system = gram.astype(np.float64)
    system[np.diag_indices_from(system)] += PENALTY * np.trace(gram) / len(gram)
    coefficients = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), Z.T @ targets)
    return float(np.mean(classes[np.argmax(Z_test @ coefficients, axis=1)] == y_test))


def measure(Phi: Float32, y: Array, Phi_test: Float32, y_test: Array, rounds: int = 7) -> tuple[Line, list[Line]]:
    """The line of NumPy float32, and one for each code."""
    rng = np.random.default_rng(1)
    r, v = (rng.standard_normal((length,), dtype=np.float32) for length in Phi.shape)
    matrices = {name: CodeMatrix.from_values(Phi, code) for name, code in codes_shown().items()}

    left: dict[str, Callable[[], object]] = {"NumPy": lambda: Phi @ v}
    right: dict[str, Callable[[], object]] = {"NumPy": lambda: Phi.T @ r}
    gram: dict[str, Callable[[], object]] = {"NumPy": lambda: Phi.T @ Phi}
    for name, Z in matrices.items():
        left[name], right[name], gram[name] = partial(Z.matvec, v), partial(Z.rmatvec, r), Z.gram
    v_ms, r_ms, gram_ms = median_ms(left, rounds), median_ms(right, rounds), median_ms(gram, 1)

    lines = []
    for name, Z in matrices.items():
        exact = Z.toarray().astype(np.float64) @ v.astype(np.float64)
        error = float(np.linalg.norm(Z @ v - exact) / np.linalg.norm(exact))
        score = accuracy(Z, Z.gram(), y, CodeMatrix.from_values(Phi_test, Z.code), y_test)
        lines.append(Line(name, Z.nbytes / 1e6, v_ms[name], r_ms[name], gram_ms[name], error, score))
    exact = Phi.astype(np.float64) @ v.astype(np.float64)
    numpy_error = float(np.linalg.norm(Phi @ v - exact) / np.linalg.norm(exact))
    times = (v_ms["NumPy"], r_ms["NumPy"], gram_ms["NumPy"])
    return Line("NumPy", Phi.nbytes / 1e6, *times, numpy_error, lines[0].accuracy), lines


def table(base: Line, lines: Sequence[Line]) -> str:
    """The lines as a Markdown table, times with their ratio to NumPy float32."""
    header = ["features stored as", "MB", "of float32", "Z @ v, ms", "Z.T @ r, ms", "Z.T @ Z, ms", "error", "accuracy"]
    rows = [header]
    for line in (base, *lines):
        times = [
            f"{ours:.2f}" if line is base else f"{ours:.2f} ({theirs / ours:.1f}x)"
            for ours, theirs in (
                (line.matvec_ms, base.matvec_ms),
                (line.rmatvec_ms, base.rmatvec_ms),
                (line.gram_ms, base.gram_ms),
            )
        ]
        name = "NumPy float32" if line is base else line.name
        share = f"1/{base.megabytes / line.megabytes:.0f}"
        rows.append([name, f"{line.megabytes:.1f}", share, *times, f"{line.error:.0e}", f"{100 * line.accuracy:.1f} %"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    text = [
        "| "
        + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    rule = "| " + " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths))
    return "\n".join(line + " |" for line in (text[0], rule, *text[1:]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demonstration, print the table and write it to ``--out``."""
    parser = argparse.ArgumentParser(prog="python -m nanogram.demo", description="What nanogram can do today.")
    parser.add_argument("--out", type=Path, default=Path("demo-report.md"), help="report to write (%(default)s)")
    size = N_COMPONENTS_REFERENCE if ops.active_isa() is None else N_COMPONENTS
    parser.add_argument("--components", type=int, default=size, help="random features (%(default)s)")
    options = parser.parse_args(arguments)

    started = time.perf_counter()
    sample = load_sample()
    n_train, n_test = len(sample.X_train), len(sample.X_test)
    where = f"{platform.machine()}, {os.cpu_count()} cores, {ops.isa_name()}"
    intro = (
        f"{n_train:,} images of handwritten digits train, {n_test:,} test (part of MNIST, inside the package).\n"
        f"{options.components:,} random cosine features of the {sample.X.shape[1]} pixels, projected by plain NumPy."
    )
    print(f"nanogram {__version__} on {where}\n\n{intro}\n", flush=True)
    features = cosine_features(sample.X, options.components)
    base, lines = measure(features[:n_train], sample.y_train, features[n_train:], sample.y_test)
    result = table(base, lines)
    notes = (
        "Z is the matrix of training features; NumPy's line multiplies the float32 features, its accuracy is that of "
        "the line below it.\nRatios in brackets: NumPy's time over ours, same process. Error: of Z @ v, relative, "
        "against the same codes in double precision.\nAccuracy: ridge regression on the Gram matrix, penalty fixed. "
        "Benchmarks proper: make bench.\n"
        "What is not here yet: fast projections, designed thresholds, estimators with fit and predict."
    )
    elapsed = f"{time.perf_counter() - started:.0f} s"
    print(f"{result}\n\n{notes}\n\n{elapsed}")
    options.out.write_text(
        f"# nanogram {__version__}: demonstration\n\n{where}; Python {platform.python_version()}, NumPy "
        f"{np.__version__}; {elapsed}.\n\n{intro}\n\n{result}\n\n{notes}\n",
        encoding="utf-8",
    )
    print(f"report: {options.out.resolve()}")


if __name__ == "__main__":
    main()
