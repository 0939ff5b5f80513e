"""Which implementation computes: the NumPy reference, or the compiled core at one instruction set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

#: Turns that an OpenMP thread of the core waits for another before it lets the processor go.
SPIN_COUNT: Final = "200"


@contextmanager
def _short_waits() -> Iterator[None]:
    """Load libgomp with short waits, unless the user has chosen: it reads the environment once, when it is loaded.

    Its default of 300,000 turns costs milliseconds where two threads wake up on one processor, or where the threads of
    a BLAS hold the others: a product of 0.4 ms then takes 6 to 15. With short waits a thread that must wake up costs 50
    microseconds.
    """
    chosen = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        yield
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]


try:
    with _short_waits():
        from nanogram import _core as _compiled
except ImportError:  # a platform without the compiled core, or a bare source tree
    _core: Any = None
else:
    _core = _compiled

__all__ = ["_core", "active_isa", "available_isas", "isa_name", "use_isa"]

REFERENCE: Final = "reference"
_LEVELS: Final = ("generic", "avx2", "avx512")


def available_isas() -> tuple[str, ...]:
    """Names of the implementations that run here, slowest first.

    Examples
    --------
    >>> from nanogram import ops
    >>> ops.available_isas()[0]
    'reference'
    """
    return (REFERENCE, *(_core.available_isas() if _core is not None else ()))


def _checked(name: str, source: str) -> str:
    if name not in (REFERENCE, *_LEVELS):
        raise ValueError(f"{source}={name!r} is unknown; choose one of {', '.join((REFERENCE, *_LEVELS))}")
    if name not in available_isas():
        raise ValueError(f"{source}={name!r} does not run here; this machine has {', '.join(available_isas())}")
    return name


def _from_environment() -> str:
    name = os.environ.get("NANOGRAM_ISA", "").strip().lower()
    return _checked(name, "NANOGRAM_ISA") if name else available_isas()[-1]


_active = _from_environment()


def isa_name() -> str:
    """Name of the implementation in use: ``"reference"``, ``"generic"``, ``"avx2"`` or ``"avx512"``."""
    return _active


def active_isa() -> int | None:
    """Level to hand to the compiled core, or None when the NumPy reference is to compute."""
    return None if _active == REFERENCE else _LEVELS.index(_active)


@contextmanager
def use_isa(name: str) -> Iterator[None]:
    """Compute with the named implementation inside a ``with`` block (for the whole process).

    Examples
    --------
    >>> from nanogram import ops
    >>> with ops.use_isa("reference"):
    ...     ops.isa_name()
    'reference'
    """
    global _active  # noqa: PLW0603 - one process-wide switch is the point of this module
    before = _active
    _active = _checked(name, "name")
    try:
        yield
    finally:
        _active = before
