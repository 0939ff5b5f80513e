"""Parts of a data set: training, heldout and test rows, and what is standardised by the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from nanogram._rows.keys import fixed_permutation

__all__ = ["centre_and_scale", "fraction", "stratified_folds", "three_parts", "with_parts"]

Rows: TypeAlias = slice | npt.NDArray[np.int64]


def with_parts(
    X: npt.NDArray[Any], y: npt.NDArray[Any], parts: Mapping[str, Rows], source: Any, descr: str, **more: Any
) -> Bunch:
    """A Bunch with X_train, y_train and so on; of slices they are views, and X and y are there as a whole."""
    bunch = Bunch(source=str(source), DESCR=f"{descr}\n\nSource: {source}", **more)
    if all(isinstance(rows, slice) for rows in parts.values()):
        bunch.X, bunch.y = X, y
    for name, rows in parts.items():
        bunch[f"X_{name}"], bunch[f"y_{name}"] = X[rows], y[rows]
        if not isinstance(rows, slice):
            bunch[f"rows_{name}"] = rows
    return bunch


def fraction(name: str, value: float) -> float:
    """A share in [0, 1), or an error that names the parameter."""
    if not 0 <= value < 1:
        raise ValueError(f"{name}={value} must be a share of the rows: at least 0, less than 1")
    return value


def three_parts(n: int, test_size: float, heldout_size: float, seed: int) -> dict[str, npt.NDArray[np.int64]]:
    """Rows of a fixed random split: `test_size` of all rows, `heldout_size` of the rest, and what is left to train."""
    order = fixed_permutation(n, seed)
    n_test = round(fraction("test_size", test_size) * n)
    n_heldout = round(fraction("heldout_size", heldout_size) * (n - n_test))
    cuts = {"test": order[:n_test], "heldout": order[n_test : n_test + n_heldout], "train": order[n_test + n_heldout :]}
    return {name: np.sort(rows) for name, rows in cuts.items() if len(rows) or name == "train"}


def stratified_folds(y: npt.NDArray[Any], n_folds: int, seed: int) -> npt.NDArray[np.uint8]:
    """The fold of each row: the rows of a class are dealt out in a fixed random order, class after class."""
    order = fixed_permutation(len(y), seed)
    dealt = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), dtype=np.uint8)
    folds[dealt] = np.arange(len(y)) % n_folds
    return folds


def centre_and_scale(bunch: Bunch, columns: slice | npt.NDArray[np.bool_] | None = None) -> Bunch:
    """Columns to mean 0 and variance 1 over the training rows, in every part, as float32; constant ones to 0."""
    where = slice(None) if columns is None else columns
    train = bunch.X_train[:, where].astype(np.float64)
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0] = 1
    for part in ("X_train", "X_heldout", "X_test"):
        if part in bunch:
            X = bunch[part].astype(np.float32)
            X[:, where] = (bunch[part][:, where] - mean) / spread
            bunch[part] = X
    # The whole, if it was there, is not standardised and would contradict its parts.
    bunch.pop("X", None)
    bunch.pop("y", None)
    return bunch
