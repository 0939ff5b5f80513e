"""Data sets of the papers: a folder, else OpenML; a sample inside the package; rows drawn from models.

Files are looked for in ``data_home``, else in the folder that NANOGRAM_DATA names, else in ``shared/data`` beside the
checkout and the working directory (and up to three folders above them). Without a file, sets that openml.org has in
the same form are fetched through scikit-learn, which caches them. docs/data.md lists them all.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any, Final

from sklearn.utils import Bunch

from nanogram.data.files import FILES, find
from nanogram.data.sample import load_sample
from nanogram.data.signals import fetch_eeg, fetch_fsdd
from nanogram.data.synthetic import (
    Mixture,
    SignalPlusNoise,
    make_gaussian_mixture,
    make_signal_plus_noise,
    mixture_parameters,
    noise_kurtosis,
)
from nanogram.data.tables import (
    fetch_a9a,
    fetch_cifar10_embeddings,
    fetch_covtype,
    fetch_fashion_mnist,
    fetch_ijcnn1,
    fetch_mnist,
    fetch_protein,
)
from nanogram.data.uci import fetch_uci, fetch_uci_regression, uci_names

__all__ = [
    "Mixture",
    "SignalPlusNoise",
    "available",
    "fetch",
    "fetch_a9a",
    "fetch_cifar10_embeddings",
    "fetch_covtype",
    "fetch_eeg",
    "fetch_fashion_mnist",
    "fetch_fsdd",
    "fetch_ijcnn1",
    "fetch_mnist",
    "fetch_protein",
    "fetch_uci",
    "fetch_uci_regression",
    "load_sample",
    "make_gaussian_mixture",
    "make_signal_plus_noise",
    "mixture_parameters",
    "noise_kurtosis",
    "uci_names",
]

_FETCHERS: Final[dict[str, Callable[..., Bunch]]] = {
    "mnist": fetch_mnist,
    "fashion_mnist": fetch_fashion_mnist,
    "covtype": fetch_covtype,
    "a9a": fetch_a9a,
    "ijcnn1": fetch_ijcnn1,
    "eeg": fetch_eeg,
    "protein": fetch_protein,
    "uci": fetch_uci,
    "uci_regression": fetch_uci_regression,
    "cifar10_embeddings": fetch_cifar10_embeddings,
    "fsdd": fetch_fsdd,
}


def fetch(name: str, *, data_home: str | os.PathLike[str] | None = None, **options: Any) -> Bunch:
    """Fetch a data set by name, with the options of its own function.

    Parameters
    ----------
    name : str
        mnist, fashion_mnist, covtype, a9a, ijcnn1, eeg, protein, cifar10_embeddings, fsdd; ``uci:NAME`` and
        ``uci_regression:NAME`` for members of the two collections.
    data_home : path, optional
        Folder with the files.
    **options
        As in ``fetch_<name>``.

    Returns
    -------
    sklearn.utils.Bunch

    Examples
    --------
    >>> fetch("minst")
    Traceback (most recent call last):
    ...
    ValueError: name='minst' is not a data set: mnist, fashion_mnist, covtype, a9a, ijcnn1, eeg, protein, uci:NAME,
    uci_regression:NAME, cifar10_embeddings, fsdd
    """
    key, _, member = name.partition(":")
    fetcher = _FETCHERS.get(key)
    takes_member = fetcher is not None and "name" in inspect.signature(fetcher).parameters
    if fetcher is None or takes_member != bool(member):
        known = ", ".join(f"{known}:NAME" if known.startswith("uci") else known for known in _FETCHERS)
        raise ValueError(f"name={name!r} is not a data set: {known}")
    unknown = sorted(set(options) - set(inspect.signature(fetcher).parameters))
    if unknown:
        accepted = ", ".join(sorted(set(inspect.signature(fetcher).parameters) - {"name", "data_home"}))
        raise TypeError(f"{', '.join(unknown)} is no option of {key!r}, which takes {accepted}")
    return fetcher(*([member] if member else []), data_home=data_home, **options)


def available(data_home: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Data sets whose file is here, and where; OpenML is not asked.

    Examples
    --------
    >>> available("/nowhere")
    {}
    """
    paths = {name: find(name, data_home) for name in FILES}
    return {name: str(path) for name, path in paths.items() if path is not None}
