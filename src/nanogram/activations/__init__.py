"""Activations: function, closed-form Gaussian kernel and Gaussian moments, side by side.

    identity relu leaky_relu(a_plus, a_minus) abs      functions linear on each side of zero
    step sign step_function(thresholds, levels)        step functions, step codes among them
    quadratic(a2, a1, a0)  erf  gaussian               polynomial and smooth
    cos sin cos_sin (= rbf, two columns a projection)  Fourier features
    cos_phase periodic_step(thresholds, levels)        behind a random phase, the projection's bias
    Activation.of(function)                            anything else, by quadrature
    a + b, or "cos + relu"                             features side by side

Each one's formulas stand in its docstring; `make_activation` turns a name into an object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._base import Activation, Moments, Sum
from ._periodic import PeriodicStep
from ._polynomial import Abs, Identity, LeakyReLU, Quadratic, ReLU
from ._smooth import Cos, CosPhase, CosSin, Erf, Gaussian, Sin
from ._steps import Sign, Step, StepFunction
from ._user import UserActivation

__all__ = [
    "ACTIVATIONS",
    "Abs",
    "Activation",
    "Cos",
    "CosPhase",
    "CosSin",
    "Erf",
    "Gaussian",
    "Identity",
    "LeakyReLU",
    "Moments",
    "PeriodicStep",
    "Quadratic",
    "ReLU",
    "Sign",
    "Sin",
    "Step",
    "StepFunction",
    "Sum",
    "UserActivation",
    "make_activation",
]

_CLASSES: tuple[type[Activation], ...] = (
    Identity,
    ReLU,
    LeakyReLU,
    Abs,
    Step,
    Sign,
    Quadratic,
    Cos,
    Sin,
    CosSin,
    CosPhase,
    Erf,
    Gaussian,
    StepFunction,
    PeriodicStep,
)

#: Every name `make_activation` knows; 'rbf' is the target's name for the pair [cos, sin].
ACTIVATIONS: dict[str, type[Activation]] = {kind.name: kind for kind in _CLASSES} | {"rbf": CosSin}


def make_activation(activation: str | Activation | Callable[..., Any], **params: Any) -> Activation:
    """An activation from its name (with parameters), from names joined by '+', from an object or a function.

    Parameters
    ----------
    activation : str, Activation or callable
        A name of `ACTIVATIONS`; names joined by '+', their features side by side; an activation,
        returned as it is; or a vectorised function, as in `Activation.of`.
    **params
        Parameters of the named activation.

    Examples
    --------
    >>> from nanogram.activations import make_activation
    >>> make_activation("leaky_relu", a_minus=0.5)
    LeakyReLU(a_plus=1.0, a_minus=0.5)
    >>> make_activation("cos + relu")
    Sum(terms=(Cos(), ReLU()))
    >>> make_activation("tanh")
    Traceback (most recent call last):
        ...
    ValueError: activation='tanh' is not known; names are identity, relu, ..., rbf; or pass an Activation or a function
    """
    if isinstance(activation, str):
        names = [name.strip() for name in activation.split("+")]
        for name in names:
            if name not in ACTIVATIONS:
                raise ValueError(
                    f"activation={name!r} is not known; names are {', '.join(ACTIVATIONS)}; "
                    "or pass an Activation or a function"
                )
        if len(names) == 1:
            return ACTIVATIONS[names[0]](**params)
        made: Activation = Sum(tuple(ACTIVATIONS[name]() for name in names))
    elif isinstance(activation, Activation):
        made = activation
    else:
        given: Any = activation
        if not callable(given) or isinstance(given, type):
            raise TypeError(f"activation={given!r} must be a name, an Activation or a function of an array")
        return Activation.of(given, **params)
    if params:
        raise ValueError(f"parameters {sorted(params)} go with one activation by name, not with {activation!r}")
    return made
