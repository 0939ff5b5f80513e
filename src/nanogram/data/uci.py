"""The UCI collections: 117 classification sets and 31 regression sets, by name."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from nanogram.data.files import find, load, read
from nanogram.data.parts import centre_and_scale, stratified_folds, with_parts
from nanogram.data.tables import Folder

__all__ = ["fetch_uci", "fetch_uci_regression", "uci_names"]

# Sets in which no classifier or regression finds much; figures on them say little.
_WITHOUT_SIGNAL = {"statlog-australian-credit", "congressional-voting"}
_LITTLE_SIGNAL = {"tamielectric", "forest", "solar", "pumadyn32nm"}


def uci_names(
    kind: Literal["classification", "regression"] = "classification",
    *,
    n_rows: tuple[int, int] | None = None,
    data_home: Folder = None,
) -> list[str]:
    """Names of the UCI sets at hand.

    Parameters
    ----------
    kind : {"classification", "regression"}
        Which collection.
    n_rows : (int, int), optional
        Smallest and largest number of rows; NTK Table 1 takes sets of 10 to 5,000.
    data_home : path, optional
        As in `fetch_mnist`.
    """
    if kind not in ("classification", "regression"):
        raise ValueError(f"kind={kind!r} must be 'classification' or 'regression'")
    name = "uci" if kind == "classification" else "uci_regression"
    names = [str(found) for found in load(name, data_home, download=False)["names"]]
    if n_rows is None:
        return names
    path = find(name, data_home)
    assert path is not None  # load() has just read it
    sizes = read(path, [f"{found}__y" for found in names])
    return [found for found in names if n_rows[0] <= len(sizes[f"{found}__y"]) <= n_rows[1]]


def _member(collection: str, name: str, keys: tuple[str, ...], data_home: Folder) -> dict[str, npt.NDArray[Any]]:
    index = load(collection, data_home, download=False)
    names = [str(found) for found in index["names"]]
    if name not in names:
        raise ValueError(f"{name!r} is not one of the {len(names)} sets of {collection}: {', '.join(names)}")
    path = find(collection, data_home)
    assert path is not None  # load() has just read it
    arrays = read(path, [f"{name}__{key}" for key in keys])
    return index | {key.removeprefix(f"{name}__"): value for key, value in arrays.items()}


def fetch_uci(name: str, *, mismatch: Literal["refuse", "standardize"] = "refuse", data_home: Folder = None) -> Bunch:
    """One of 117 UCI classification sets (Fernandez-Delgado et al., JMLR 2014), coded in numbers.

    Where the collection gives training and test files it scaled them apart from each other. For seven sets that puts
    the test rows on another scale than the training rows, so that a model of the one says nothing of the other.

    Parameters
    ----------
    name : str
        One of `uci_names()`.
    mismatch : {"refuse", "standardize"}
        What to do with those seven: an error, or each part brought to mean 0 and variance 1 by itself.
    data_home : path, optional
        As in `fetch_mnist`; OpenML does not have the collection in this coding.

    Returns
    -------
    sklearn.utils.Bunch
        X, y, test_fold (a fixed stratified split in four folds; the collection's own is not in the file), n_train
        (0: no split given), X_train, y_train, X_test, y_test where a split is given, source, DESCR.
    """
    if mismatch not in ("refuse", "standardize"):
        raise ValueError(f"mismatch={mismatch!r} must be 'refuse' or 'standardize'")
    arrays = _member("uci", name, ("X", "y", "n_train"), data_home)
    X, n_train = arrays["X"], int(arrays["n_train"])
    descr = f"UCI classification set {name}."
    if name in arrays["scale_mismatch"]:
        if mismatch == "refuse":
            raise ValueError(
                f"the test rows of {name!r} are on another scale than its training rows (the collection scaled the "
                "two apart): leave it out, or pass mismatch='standardize' to standardise each part by itself"
            )
        X = np.concatenate([_standardized(X[:n_train]), _standardized(X[n_train:])])
        descr += " Training and test rows standardised apart."
    if name in _WITHOUT_SIGNAL:
        descr += " Carries no signal: no classifier beats guessing."
    parts = {"train": slice(0, n_train), "test": slice(n_train, None)} if n_train else {}
    folds = stratified_folds(arrays["y"], 4, seed=0)
    return with_parts(X, arrays["y"], parts, arrays["source"], descr, n_train=n_train, test_fold=folds)


def _standardized(X: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    wide = X.astype(np.float64)
    spread = wide.std(axis=0)
    spread[spread == 0] = 1
    scaled: npt.NDArray[np.float32] = ((wide - wide.mean(axis=0)) / spread).astype(np.float32)
    return scaled


def fetch_uci_regression(name: str, *, fold: int = 0, standardize: bool = True, data_home: Folder = None) -> Bunch:
    """One of 31 UCI regression sets with its ten folds; stand-ins for YearPred, Census and cpu.

    Parameters
    ----------
    name : str
        One of ``uci_names("regression")``.
    fold : int
        The fold, 0 to 9, that is the test part.
    standardize : bool
        As LP D.1: columns of more than two values to mean 0 and variance 1, y to mean 0, by the training rows.
    data_home : path, optional
        As in `fetch_mnist`; OpenML does not have the folds.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, y_train, rows_train, X_test, y_test, rows_test, test_fold, source, DESCR; y_mean when standardised.
    """
    if fold not in range(10):
        raise ValueError(f"fold={fold} must be 0 to 9")
    arrays = _member("uci_regression", name, ("X", "y", "test_fold"), data_home)
    X, y, folds = arrays["X"], arrays["y"], arrays["test_fold"]
    parts = {"train": np.flatnonzero(folds != fold), "test": np.flatnonzero(folds == fold)}
    descr = f"UCI regression set {name}, fold {fold} of 10." + " Carries little signal." * (name in _LITTLE_SIGNAL)
    bunch = with_parts(X, y, parts, arrays["source"], descr, test_fold=folds)
    if not standardize:
        return bunch
    bunch.y_mean = float(bunch.y_train.mean(dtype=np.float64))
    for part in ("y_train", "y_test"):
        bunch[part] = (bunch[part] - bunch.y_mean).astype(np.float32)
    continuous = np.array([len(np.unique(column)) > 2 for column in X.T])
    return centre_and_scale(bunch, continuous)
