"""Make src/nanogram/data/sample.npz from the files of the data folder: same files in, same bytes out.

Run as ``python tools/make_sample.py [DATA_HOME]``.
"""

from __future__ import annotations

import sys
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from nanogram._rows.keys import fixed_permutation
from nanogram.data.sample import SAMPLE_PATH
from nanogram.datasets import fetch_covtype, fetch_mnist, fetch_protein

LIMIT = 1_500_000


def stratified(y: npt.NDArray[Any], n: int, seed: int) -> npt.NDArray[np.int64]:
    """Choose n rows with the classes in their proportions (largest remainders), in a fixed random order."""
    labels, counts = np.unique(y, return_counts=True)
    exact = counts * n / len(y)
    wanted = np.floor(exact).astype(int)
    for late in np.argsort(wanted - exact, kind="stable")[: n - wanted.sum()]:
        wanted[late] += 1
    order = fixed_permutation(len(y), seed)
    chosen = [order[y[order] == label][:count] for label, count in zip(labels, wanted, strict=True)]
    rows = np.concatenate(chosen)
    return rows[fixed_permutation(len(rows), seed)]


def pick(bunch: Any, n_train: int, n_test: int, classes: bool) -> dict[str, npt.NDArray[Any]]:
    """Rows of the training part, then rows of the test part."""
    parts = []
    for seed, (part, n) in enumerate((("train", n_train), ("test", n_test))):
        X, y = bunch[f"X_{part}"], bunch[f"y_{part}"]
        rows = stratified(y, n, seed) if classes else fixed_permutation(len(y), seed)[:n]
        parts.append((X[rows], y[rows]))
    return {
        "X": np.concatenate([X for X, _ in parts]),
        "y": np.concatenate([y for _, y in parts]),
        "n_train": np.array(n_train),
    }


def main() -> None:
    """Write the sample and refuse one that is too large for the package."""
    home = sys.argv[1] if len(sys.argv) > 1 else None
    sets = {
        "mnist": (fetch_mnist(data_home=home, download=False), 6000, 1000, True),
        "covtype": (fetch_covtype(data_home=home, download=False, standardize=False), 3200, 800, True),
        "protein": (fetch_protein(data_home=home, download=False, standardize=False), 2400, 600, False),
    }
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (bunch, n_train, n_test, classes) in sets.items():
        picked = pick(bunch, n_train, n_test, classes)
        picked["columns"] = np.array([] if name == "mnist" else bunch.feature_names, dtype=str)
        picked["source"] = np.array(f"{n_train} training and {n_test} test rows of: {bunch.source}")
        arrays |= {f"{name}__{key}": value for key, value in picked.items()}
    # numpy.savez_compressed has no say over the level and no promise about its bytes.
    with zipfile.ZipFile(SAMPLE_PATH, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key, value in arrays.items():
            entry = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, np.array(value, order="C"), allow_pickle=False)
    size = SAMPLE_PATH.stat().st_size
    sys.stdout.write(f"{SAMPLE_PATH}: {size} bytes\n")
    if size > LIMIT:
        sys.exit(f"more than {LIMIT} bytes")


if __name__ == "__main__":
    main()
