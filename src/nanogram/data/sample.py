"""The sample of real data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from sklearn.utils import Bunch

from nanogram.data.files import read
from nanogram.data.parts import with_parts

__all__ = ["SAMPLE_PATH", "load_sample"]

SAMPLE_PATH = Path(__file__).with_name("sample.npz")


def load_sample(name: Literal["mnist", "covtype", "protein"] = "mnist") -> Bunch:
    """Real data inside the package: a few thousand rows of MNIST, CovType or protein, for demos and quick tests.

    Training rows are drawn from the training rows of the whole set, test rows from its test rows, classes in their
    proportions. Made by ``tools/make_sample.py``; sources and licences are in ``source`` and in the README beside it.

    Parameters
    ----------
    name : {"mnist", "covtype", "protein"}
        MNIST: 6,000 + 1,000 rows of 784 uint8 pixels, ten digits. CovType: 3,200 + 800 rows of 54 int16 columns,
        y 1 for class 2, else 0. Protein: 2,400 + 600 rows of 9 float32 columns, y a length in angstrom.

    Returns
    -------
    sklearn.utils.Bunch
        X, y, n_train, X_train, y_train, X_test, y_test, feature_names (None for pixels), source, DESCR.

    Examples
    --------
    >>> from nanogram.datasets import load_sample
    >>> digits = load_sample()
    >>> digits.X.shape, digits.X.dtype.name, digits.n_train
    ((7000, 784), 'uint8', 6000)
    """
    if name not in ("mnist", "covtype", "protein"):
        raise ValueError(f"name={name!r} must be 'mnist', 'covtype' or 'protein'")
    keys = ["X", "y", "n_train", "columns", "source"]
    arrays = dict(zip(keys, read(SAMPLE_PATH, [f"{name}__{key}" for key in keys]).values(), strict=True))
    n_train = int(arrays["n_train"])
    parts = {"train": slice(0, n_train), "test": slice(n_train, None)}
    return with_parts(
        arrays["X"],
        arrays["y"],
        parts,
        arrays["source"],
        f"A sample of {name}.",
        n_train=n_train,
        feature_names=arrays["columns"].tolist() or None,
    )
