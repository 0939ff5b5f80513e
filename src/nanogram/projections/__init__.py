"""Laws of random projections, and the generator they draw from (`counter`).

Each law is a parameter object: ``Gaussian().draw(n_inputs, n_components, seed)`` is the projection itself, of which
any block can be made (``materialize``) and which can be applied to rows (``project``).
"""

from .base import Drawn, Projection
from .cauchy import Cauchy
from .circulant import Circulant
from .counter import Stream, row_keys, seed_from
from .directional import Directional
from .gaussian import Gaussian
from .hadamard import Hadamard
from .make import make_projection
from .orthogonal import Orthogonal
from .qmc import QMC
from .rademacher import Rademacher
from .spherical import Spherical
from .student_t import StudentT
from .ternary import SparsityWarning, Ternary

__all__ = [
    "QMC",
    "Cauchy",
    "Circulant",
    "Directional",
    "Drawn",
    "Gaussian",
    "Hadamard",
    "Orthogonal",
    "Projection",
    "Rademacher",
    "SparsityWarning",
    "Spherical",
    "Stream",
    "StudentT",
    "Ternary",
    "make_projection",
    "row_keys",
    "seed_from",
]
