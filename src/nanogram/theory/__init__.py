"""What random matrix theory says: moments, equivalents, laws, spikes and the design of codes."""

from __future__ import annotations

from ._moments import Moments, estimate_tau, moments
from .kernel_error import KernelError, kernel_error
from .periodic_design import PeriodicCode, design_periodic_code
from .step_design import RareFiringWarning, design_kernel_error, design_step_code
from .step_report import StepDesign

__all__ = [
    "KernelError",
    "Moments",
    "PeriodicCode",
    "RareFiringWarning",
    "StepDesign",
    "design_kernel_error",
    "design_periodic_code",
    "design_step_code",
    "estimate_tau",
    "kernel_error",
    "moments",
]
