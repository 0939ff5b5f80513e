"""Displays are drawn without a screen, and every figure is closed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
collect_ignore_glob = [] if HAS_MATPLOTLIB else ["test_*.py"]

if HAS_MATPLOTLIB:
    import matplotlib as mpl

    mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
