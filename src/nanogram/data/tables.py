"""Images and tables: MNIST and its like, CovType, a9a, ijcnn1, protein, embeddings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from nanogram.data.files import Arrays, load
from nanogram.data.parts import centre_and_scale, three_parts, with_parts

__all__ = [
    "fetch_a9a",
    "fetch_cifar10_embeddings",
    "fetch_covtype",
    "fetch_fashion_mnist",
    "fetch_ijcnn1",
    "fetch_mnist",
    "fetch_protein",
]

Folder = str | os.PathLike[str] | None

_CLOTHES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_COVERS = ("Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen", "Douglas-fir", "Krummholz")
# Elevation to distances to fire points; the 44 columns after them are one-hot.
_COVTYPE_CONTINUOUS = slice(0, 10)


def _given_split(arrays: Arrays, descr: str, classes: Sequence[int] | None = None, **more: Any) -> Bunch:
    """Train rows first, test rows after them; optionally the rows of some classes only."""
    X, y, n_train = arrays["X"], arrays["y"], int(arrays["n_train"])
    if classes is not None:
        wanted = list(classes)
        unknown = sorted(set(wanted) - set(np.unique(y).tolist()))
        if unknown or len(wanted) < 2:
            known = np.unique(y).tolist()
            raise ValueError(f"classes={classes!r} must be at least two of {known}")
        chosen = np.isin(y, wanted)
        n_train = int(chosen[:n_train].sum())
        X, y = X[chosen], y[chosen]
        descr += f" Classes {', '.join(map(str, wanted))} only."
    return with_parts(
        X, y, {"train": slice(0, n_train), "test": slice(n_train, None)}, arrays["source"], descr,
        n_train=n_train, **more,
    )  # fmt: skip


def _pixels() -> list[str]:
    return [f"pixel_{row}_{column}" for row in range(28) for column in range(28)]


def fetch_mnist(*, classes: Sequence[int] | None = None, data_home: Folder = None, download: bool = True) -> Bunch:
    """MNIST digits: 60,000 training and 10,000 test images of 28 x 28 uint8 pixels.

    Parameters
    ----------
    classes : sequence of int, optional
        Digits to keep; the papers use (7, 9) in TRF, (6, 8) in SPECTRUM, (0, 1) in SQSC.
    data_home : path, optional
        Folder with the file; else the environment's NANOGRAM_DATA, else ``shared/data`` near the checkout or the
        working directory.
    download : bool
        Whether OpenML (mnist_784, version 1) is asked when there is no file.

    Returns
    -------
    sklearn.utils.Bunch
        X, y, n_train, X_train, y_train, X_test, y_test, feature_names, target_names, source, DESCR.
    """
    names = [str(digit) for digit in range(10)]
    return _given_split(
        load("mnist", data_home, download), "MNIST: handwritten digits, 28 x 28 grey levels.", classes,
        feature_names=_pixels(), target_names=names,
    )  # fmt: skip


def fetch_fashion_mnist(
    *, classes: Sequence[int] | None = None, data_home: Folder = None, download: bool = True
) -> Bunch:
    """Fashion-MNIST: 60,000 training and 10,000 test images of clothes, 28 x 28 uint8.

    Parameters and the Bunch are those of `fetch_mnist`; OpenML has it as Fashion-MNIST, version 1.
    """
    return _given_split(
        load("fashion_mnist", data_home, download), "Fashion-MNIST: clothes, 28 x 28 grey levels.", classes,
        feature_names=_pixels(), target_names=list(_CLOTHES),
    )  # fmt: skip


def fetch_covtype(
    *,
    binary: bool = True,
    standardize: bool = True,
    test_size: float = 0.2,
    heldout_size: float = 0.1,
    seed: int = 0,
    data_home: Folder = None,
    download: bool = True,
) -> Bunch:
    """Forest cover types: 581,012 patches of forest, 54 columns.

    As LP D.1 has it: class 2 (lodgepole pine) against the rest, 20 % of the rows test, 10 % of the others heldout
    (418k, 46k, 116k rows), continuous columns to mean 0 and variance 1, binary columns as they are. The paper's
    random split is not published; this one is a fixed permutation, the same everywhere.

    Parameters
    ----------
    binary : bool
        True: y is 1 for class 2, else 0. False: y is the class, 1 to 7.
    standardize : bool
        Standardise the ten continuous columns by the training rows (float32); False leaves int16.
    test_size, heldout_size : float
        Share of all rows, and of the rows that are not test rows.
    seed : int
        Seed of the permutation.
    data_home, download
        As in `fetch_mnist`; OpenML has it as covertype, version 3.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, y_train, rows_train (indices into the file), the same for heldout and test, feature_names,
        target_names, source, DESCR.
    """
    arrays = load("covtype", data_home, download)
    y = (arrays["y"] == 2).astype(np.uint8) if binary else arrays["y"]
    bunch = with_parts(
        arrays["X"],
        y,
        three_parts(len(y), test_size, heldout_size, seed),
        arrays["source"],
        "CovType: class 2 against the rest." if binary else "CovType: seven classes.",
        feature_names=arrays["columns"].tolist(),
        target_names=["rest", _COVERS[1]] if binary else list(_COVERS),
    )
    return centre_and_scale(bunch, _COVTYPE_CONTINUOUS) if standardize else bunch


def fetch_a9a(*, data_home: Folder = None, download: bool = True) -> Bunch:
    """Adult as LIBSVM's a9a: 32,561 training and 16,281 test rows of 123 binary columns, y -1 or 1.

    TRF's a8a splits the 32,561 rows alone, in 22,696 and 9,865. Parameters and the Bunch are those of `fetch_mnist`;
    OpenML has it as a9a, version 1.
    """
    return _given_split(load("a9a", data_home, download), "a9a: income of adults, one-hot columns.")


def fetch_ijcnn1(*, data_home: Folder = None, download: bool = True) -> Bunch:
    """IJCNN 2001 challenge: 49,990 training and 91,701 test rows of 22 columns, y -1 or 1.

    Parameters and the Bunch are those of `fetch_mnist`; OpenML does not have it in this form.
    """
    return _given_split(load("ijcnn1", data_home, download), "ijcnn1: misfires of an engine.")


def fetch_protein(
    *,
    standardize: bool = True,
    test_size: float = 0.2,
    heldout_size: float = 0.0,
    seed: int = 0,
    data_home: Folder = None,
    download: bool = True,
) -> Bunch:
    """Protein structure (CASP 5 to 9): 45,730 rows of 9 columns, y the deviation (RMSD) in angstrom.

    NTK Table 2 does not say how it was split; this is a fixed permutation. Parameters and the Bunch are those of
    `fetch_covtype`; OpenML has it as physicochemical-protein, version 1.
    """
    arrays = load("protein", data_home, download)
    names = [name for name in arrays["columns"].tolist() if name != "RMSD"]
    parts = three_parts(len(arrays["y"]), test_size, heldout_size, seed)
    descr = "Protein tertiary structure: deviation from nine physicochemical properties."
    bunch = with_parts(arrays["X"], arrays["y"], parts, arrays["source"], descr, feature_names=names)
    return centre_and_scale(bunch) if standardize else bunch


def fetch_cifar10_embeddings(*, data_home: Folder = None, download: bool = True) -> Bunch:
    """CIFAR-10 seen by EfficientNet-Lite0: 5,000 training and 5,000 test rows of 1,280 float16 columns.

    Stands in for the VGG, ResNet and GoogLeNet embeddings of TRF, SQSC and NTK: figures made with it are not the
    papers'. Parameters and the Bunch are those of `fetch_mnist`; OpenML does not have it.
    """
    arrays = load("cifar10_embeddings", data_home, download)
    return _given_split(arrays, "CIFAR-10 embedded by EfficientNet-Lite0.", target_names=list(_CIFAR10))
