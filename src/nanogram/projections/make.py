"""Laws from short names."""

from __future__ import annotations

from .base import Projection
from .cauchy import Cauchy
from .circulant import Circulant
from .directional import Directional
from .gaussian import Gaussian
from .hadamard import Hadamard
from .orthogonal import Orthogonal
from .qmc import QMC
from .rademacher import Rademacher
from .spherical import Spherical
from .student_t import StudentT
from .ternary import Ternary

__all__ = ["make_projection"]

_LAWS: dict[str, type[Projection]] = {
    law.name: law
    for law in (
        Gaussian,
        Cauchy,
        StudentT,
        Rademacher,
        Ternary,
        Circulant,
        Orthogonal,
        Hadamard,
        QMC,
        Spherical,
        Directional,
    )
}


def make_projection(projection: Projection | str) -> Projection:
    """The law of that name, with its default parameters; a law passes through.

    Parameters
    ----------
    projection : Projection or str
        ``"gaussian"``, ``"cauchy"``, ``"student_t"``, ``"rademacher"``, ``"ternary"``, ``"circulant"``,
        ``"orthogonal"``, ``"hadamard"``, ``"qmc"``, ``"spherical"`` or ``"directional"``.

    Examples
    --------
    >>> from nanogram.projections import make_projection
    >>> make_projection("hadamard")
    Hadamard()
    """
    if isinstance(projection, Projection):
        return projection
    if not isinstance(projection, str) or projection not in _LAWS:
        raise ValueError(f"projection={projection!r} is not known; a law or one of {', '.join(_LAWS)} is accepted")
    return _LAWS[projection]()
