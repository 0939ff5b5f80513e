"""Generalised Gaussian moments (SPECTRUM Table 2, TRF Table 1) of any activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanogram._bandwidth import estimate_tau
from nanogram.activations import Activation, Moments, make_activation

__all__ = ["Moments", "estimate_tau", "moments"]


def moments(activation: str | Activation | Callable[..., Any], tau: float) -> Moments:
    """(d0, d1, d2) of an activation at tau, the mean squared norm of the centred rows.

    d1 = E[s'(sqrt(tau) z)]^2,  d2 = E[s''(sqrt(tau) z)]^2 / 4,  d0 = Var[s(sqrt(tau) z)] - tau d1

    with z ~ N(0, 1) and derivatives in the sense of distributions: closed forms for the named
    activations, quadrature for a function (good to about 1e-12 of E[s^2]; a RuntimeWarning when not
    good to 1e-8). Several features a projection add their moments.

    Parameters
    ----------
    activation : str, Activation or callable
        As `nanogram.activations.make_activation` takes it.
    tau : float
        Positive; `estimate_tau` measures it.

    Returns
    -------
    Moments
        Named tuple (d0, d1, d2).

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import theory
    >>> theory.moments("quadratic", 2.0)
    Moments(d0=8.0, d1=0.0, d2=1.0)
    >>> [round(d, 6) for d in theory.moments(np.tanh, 1.0)]
    [0.027415, 0.366879, 0.0]
    """
    return make_activation(activation).moments(tau)
