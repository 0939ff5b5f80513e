"""What the displays share: matplotlib where it is installed, and one set of colours."""

from __future__ import annotations

from typing import Any

__all__ = ["ACCENT", "CLASSES", "GREY", "MEASURED", "PREDICTED", "axes"]

#: Colours that stay apart for readers who do not see red and green as different (Okabe and Ito).
MEASURED = "#56B4E9"
PREDICTED = "#D55E00"
ACCENT = "#009E73"
GREY = "#6E6E6E"
CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def axes(ax: Any, owner: object, size: tuple[float, float] = (6.0, 3.6)) -> Any:
    """The axes to draw on: those given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(owner).__name__}.plot draws with matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]
