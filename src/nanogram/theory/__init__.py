"""What random matrix theory says: moments, equivalents, laws, spikes and the design of codes."""

from __future__ import annotations

from ._moments import Moments, estimate_tau, moments

__all__ = ["Moments", "estimate_tau", "moments"]
