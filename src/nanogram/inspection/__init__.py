"""Displays, one a file, in scikit-learn's manner: data are computed when one is made, ``plot(ax=None)`` draws them.

Drawing needs matplotlib, which is not among the dependencies: ``pip install matplotlib``.
"""

from __future__ import annotations

from .eigenvector_display import EigenvectorDisplay
from .moments_display import MomentsDisplay
from .spectrum_display import SpectrumDisplay

__all__ = ["EigenvectorDisplay", "MomentsDisplay", "SpectrumDisplay"]
