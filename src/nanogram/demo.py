"""``python -m nanogram.demo`` (``make demo``): what works today, on real data, in about a minute.

The rows of the packaged sample become random features of a Gaussian kernel, in float32 and in codes of 8, 4, 2, 1.6 and
1 bits, by fast projections and codes that are designed for the rows. For each the demonstration states the bytes, the
time to encode against scikit-learn's RBFSampler, the time of the products against NumPy float32, and the time to
train a ridge classifier and its test accuracy against RBFSampler and RidgeClassifier. The report goes to ``--out``.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import sklearn

from nanogram import TernaryFeatures, __version__, ops
from nanogram._demo.measure import Map, measure
from nanogram._demo.tables import main_table, product_table
from nanogram.datasets import load_sample

__all__ = ["main"]

N_COMPONENTS = 4096
#: Without the compiled core the NumPy reference computes; it is there to be read, not to be fast.
N_COMPONENTS_REFERENCE = 256

ABOUT_FEATURES = (
    "Encode: transform of the training rows. Train: one fit, of scikit-learn's RidgeClassifier on the first line, of\n"
    "CodeRidgeClassifier below it; the penalty is the one that suits the first line best on a sixth of the rows held\n"
    "out. In brackets: scikit-learn's time over ours. Accuracy: on the test rows."
)
ABOUT_PRODUCTS = (
    "Z holds the training rows; in brackets NumPy's time over ours. Error: against the decoded features in double."
)


def described(features: Map) -> str:
    """One line on a fitted map: its path and its design."""
    report = features.report_
    line = f"projection {report.projection}, path '{report.path}', tau {report.tau:.3g}, gamma {report.gamma:.3g}"
    design = features.design_ if isinstance(features, TernaryFeatures) else None
    if design is not None:
        thresholds = ", ".join(f"{one:.3f}" for one in design.thresholds)
        levels = ", ".join(f"{one:.3f}" for one in design.levels)
        firing = ", ".join(f"{100 * one:.0f} %" for one in design.firing)
        where = "cosines of random phase" if design.activation == "cos_phase" else "projections"
        line += f";\n  {design.kind} code: thresholds {thresholds} on {where}, levels {levels}, taken by {firing}"
    return line


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demonstration, print the tables and write them to ``--out``."""
    parser = argparse.ArgumentParser(prog="python -m nanogram.demo", description="What nanogram can do today.")
    parser.add_argument("--out", type=Path, default=Path("demo-report.md"), help="report to write (%(default)s)")
    size = N_COMPONENTS_REFERENCE if ops.active_isa() is None else N_COMPONENTS
    parser.add_argument("--components", type=int, default=size, help="random features (%(default)s)")
    options = parser.parse_args(arguments)
    if options.components < 1:
        parser.error(f"--components {options.components}: at least 1 is accepted")

    started = time.perf_counter()
    sample = load_sample()
    where = f"{platform.machine()}, {os.cpu_count()} cores, {ops.isa_name()}"
    intro = (
        f"{len(sample.X_train):,} images of handwritten digits train, {len(sample.X_test):,} test (part of MNIST, in "
        f"the package); {sample.X.shape[1]} pixels become {options.components:,} random features of a Gaussian kernel."
    )
    print(f"nanogram {__version__} on {where}\n\n{intro}\nMeasuring ...\n", flush=True)
    first, lines, maps = measure(sample, options.components)
    shown = [f"{name}: {described(maps[name])}" for name in ("Fourier, 4 bits", "designed, ternary")]
    text = "\n\n".join(
        [
            main_table(first, lines, "scikit-learn RBFSampler"),
            ABOUT_FEATURES,
            product_table(first, lines, "NumPy float32"),
            ABOUT_PRODUCTS,
            *shown,
            "Benchmarks proper: make bench.",
        ]
    )
    elapsed = f"{time.perf_counter() - started:.0f} s"
    print(f"{text}\n\n{elapsed}")
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}"
    options.out.write_text(
        f"# nanogram {__version__}: demonstration\n\n{where}; {versions}; {elapsed}.\n\n{intro}\n\n{text}\n",
        encoding="utf-8",
    )
    print(f"report: {options.out.resolve()}")


if __name__ == "__main__":
    main()
