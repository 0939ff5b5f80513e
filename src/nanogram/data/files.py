"""The files of the data folder: where they are looked for, how they are read, and what OpenML has of them."""

from __future__ import annotations

import importlib.util
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["FILES", "DataFile", "OpenML", "find", "folders", "load", "read"]

Arrays = dict[str, npt.NDArray[Any]]

# What zipfile and numpy.load raise over bytes that are not theirs (found by flipping bits; a plain .npy is no archive).
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)

# The checkout is four folders above this file; a worktree may be deeper than its data, hence the climb.
_CLIMB: Final = 3


@dataclass(frozen=True, slots=True)
class OpenML:
    """A set of openml.org that holds the same rows in the same order."""

    name: str
    version: int
    shape: tuple[int, int]
    dtype: str
    target_dtype: str
    target: str = "default-target"
    n_train: int | None = None
    # Counts of the labels (sorted) among the first n_train rows: tells whether the order is the one expected.
    train_counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the data folder, the arrays it must have, and its twin on OpenML."""

    file: str
    keys: tuple[str, ...]
    openml: OpenML | None = None


_SPLIT = ("X", "y", "n_train", "source")
_DIGITS = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)

FILES: Final[Mapping[str, DataFile]] = {
    "mnist": DataFile(
        "mnist.npz", _SPLIT, OpenML("mnist_784", 1, (70000, 784), "u1", "u1", n_train=60000, train_counts=_DIGITS)
    ),
    "fashion_mnist": DataFile(
        "fashion_mnist.npz",
        _SPLIT,
        OpenML("Fashion-MNIST", 1, (70000, 784), "u1", "u1", n_train=60000, train_counts=(6000,) * 10),
    ),
    "covtype": DataFile(
        "covtype.npz", ("X", "y", "columns", "source"), OpenML("covertype", 3, (581012, 54), "i2", "u1")
    ),
    "a9a": DataFile(
        "a9a.npz", _SPLIT, OpenML("a9a", 1, (48842, 123), "u1", "i1", n_train=32561, train_counts=(24720, 7841))
    ),
    # OpenML's ijcnn repeats the training rows (191,681 in all), so it is no twin of this file.
    "ijcnn1": DataFile("ijcnn1.npz", _SPLIT),
    "eeg": DataFile("eeg_bonn_raw.npz", ("X", "y", "names", "source")),
    "protein": DataFile(
        "protein_casp.npz",
        ("X", "y", "columns", "source"),
        OpenML("physicochemical-protein", 1, (45730, 9), "f4", "f4", target="RMSD"),
    ),
    # OpenML has most of the UCI sets, but coded and ordered otherwise than this collection.
    "uci": DataFile("uci121_bundle.npz", ("names", "scale_mismatch", "source")),
    "uci_regression": DataFile("uci_regression_bundle.npz", ("names", "source")),
    "cifar10_embeddings": DataFile("cifar10_effnetlite0_10k.npz", _SPLIT),
    "fsdd": DataFile(
        "fsdd_logmel_frames.npz", ("X", "y", "utt_start", "utt_digit", "utt_speaker", "utt_rec", "source")
    ),
}


def folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders in which files are looked for, first to last."""
    if data_home is not None:
        return [Path(data_home).expanduser()]
    named = os.environ.get("NANOGRAM_DATA")
    if named:
        return [Path(named).expanduser()]
    starts = [Path(__file__).resolve().parents[3], Path.cwd()]
    places = [place / "shared" / "data" for start in starts for place in (start, *start.parents[:_CLIMB])]
    return list(dict.fromkeys(places))


def find(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Path of a data set's file, or None."""
    for folder in folders(data_home):
        path = folder / FILES[name].file
        if path.is_file():
            return path
    return None


def read(path: Path, keys: Iterable[str]) -> Arrays:
    """Named arrays of an .npz file, which is trusted with nothing: no pickles, and damage is reported as such."""
    try:
        # Opened here, as np.load leaves a file open that turns out to be no archive.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {key: archive[key] for key in keys}
    except KeyError as error:
        raise ValueError(f"{path} is not the file expected: {error.args[0]}") from error
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged or no .npz file ({error}): fetch it again") from error


def load(name: str, data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Arrays:
    """The arrays of a data set: from its file, else from OpenML, else an error that says what to do."""
    path = find(name, data_home)
    if path is not None:
        return _consistent(read(path, FILES[name].keys), path)
    twin = FILES[name].openml
    if twin is None:
        raise FileNotFoundError(_missing(name, data_home, "OpenML does not have it in this form"))
    if not download:
        raise FileNotFoundError(
            _missing(name, data_home, f"download=False kept OpenML ({twin.name}, version {twin.version}) out")
        )
    try:
        return _from_openml(twin)
    except (OSError, HTTPException, ValueError, ImportError) as error:
        reason = f"OpenML ({twin.name}, version {twin.version}) did not give it: {error}"
        raise FileNotFoundError(_missing(name, data_home, reason)) from error


def _missing(name: str, data_home: str | os.PathLike[str] | None, reason: str) -> str:
    looked = "\n".join(f"  {folder}" for folder in folders(data_home))
    return (
        f"data set {name!r} is not here. {FILES[name].file} was looked for in\n{looked}\nand {reason}.\n"
        "Set NANOGRAM_DATA, or pass data_home=, to the folder that has the file."
    )


def _consistent(arrays: Arrays, path: Path) -> Arrays:
    if "X" in arrays:
        X, y = arrays["X"], arrays["y"]
        if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
            raise ValueError(f"{path} is damaged: X has shape {X.shape} and y {y.shape}")
        n_train = int(arrays.get("n_train", np.array(0)))
        if not 0 <= n_train <= len(X):
            raise ValueError(f"{path} is damaged: n_train={n_train} of {len(X)} rows")
    return arrays


def _from_openml(twin: OpenML) -> Arrays:
    from sklearn.datasets import fetch_openml

    # scikit-learn's cache (its data_home, ~/scikit_learn_data) keeps the download.
    parser = "auto" if importlib.util.find_spec("pandas") else "liac-arff"
    got = fetch_openml(name=twin.name, version=twin.version, as_frame=False, parser=parser, target_column=twin.target)
    X = got.data.toarray() if hasattr(got.data, "toarray") else np.asarray(got.data)
    y = np.asarray(got.target).astype(np.float64)
    if X.shape != twin.shape or y.shape != twin.shape[:1]:
        raise ValueError(f"X has shape {X.shape} where {twin.shape} was expected")
    exact_X, exact_y = X.astype(twin.dtype), y.astype(twin.target_dtype)
    if twin.dtype[0] in "iu" and not (np.array_equal(exact_X, X) and np.array_equal(exact_y, y)):
        raise ValueError("its values are not the integers expected")
    if twin.train_counts:
        counts = tuple(np.unique(exact_y[: twin.n_train], return_counts=True)[1].tolist())
        if counts != twin.train_counts:
            raise ValueError(f"its first {twin.n_train} rows are not the training rows (counts of labels: {counts})")
    arrays: Arrays = {"X": exact_X, "y": exact_y, "columns": np.array(got.feature_names, dtype=str)}
    if twin.n_train is not None:
        arrays["n_train"] = np.array(twin.n_train)
    arrays["source"] = np.array(f"openml.org: {twin.name}, version {twin.version}")
    return arrays
