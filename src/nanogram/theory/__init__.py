"""What random matrix theory says: moments, equivalents, laws, spikes and the design of codes."""

from __future__ import annotations

from ._moments import Moments, estimate_tau, moments
from .activation_profile import ActivationProfile, activation_profile
from .equivalent import EquivalentKernel, FittedRate, equivalent_error, equivalent_kernel, fitted_rate
from .gram_spectrum import GramSpectrum, IsolatedEigenvalues, gram_spectrum
from .kernel_error import KernelError, kernel_error
from .mixture_statistics import GMMStatistics, gmm_statistics, trace_of_square
from .periodic_design import PeriodicCode, design_periodic_code
from .ridge_risk import RidgeRisk, kernel_ridge_risk, ridge_risk
from .spiked import SpikedEigenvalues, spiked_eigenvalues
from .step_design import RareFiringWarning, design_kernel_error, design_step_code
from .step_report import StepDesign

__all__ = [
    "ActivationProfile",
    "EquivalentKernel",
    "FittedRate",
    "GMMStatistics",
    "GramSpectrum",
    "IsolatedEigenvalues",
    "KernelError",
    "Moments",
    "PeriodicCode",
    "RareFiringWarning",
    "RidgeRisk",
    "SpikedEigenvalues",
    "StepDesign",
    "activation_profile",
    "design_kernel_error",
    "design_periodic_code",
    "design_step_code",
    "equivalent_error",
    "equivalent_kernel",
    "estimate_tau",
    "fitted_rate",
    "gmm_statistics",
    "gram_spectrum",
    "kernel_error",
    "kernel_ridge_risk",
    "moments",
    "ridge_risk",
    "spiked_eigenvalues",
    "trace_of_square",
]
