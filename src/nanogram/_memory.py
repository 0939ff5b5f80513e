"""Amounts of memory: as users write them, and what the machine has left."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

__all__ = ["available_memory", "parse_memory"]

_UNITS: Final = {"": 1, "B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_FOLDED: Final = {unit.upper(): size for unit, size in _UNITS.items()}
_ACCEPTED: Final = (
    "a number of bytes or a string such as '64MB', '1.5GB' (powers of 1000) or '512MiB', '1GiB' (of 1024)"
)


def parse_memory(value: Any, name: str = "max_memory") -> int:
    """Bytes of an amount of memory.

    Parameters
    ----------
    value : int, float or str
        Bytes, or a number with a unit: B, kB, MB, GB, TB are powers of 1000, KiB, MiB, GiB, TiB of 1024;
        capitals and spaces do not matter.
    name : str
        What the error calls the value.

    Returns
    -------
    int

    Examples
    --------
    >>> from nanogram._memory import parse_memory
    >>> parse_memory("64MB"), parse_memory("1 GiB"), parse_memory(2e6)
    (64000000, 1073741824, 2000000)
    """
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*", value)
        if found is None or found[2].upper() not in _FOLDED:
            raise ValueError(f"{name}={value!r} is not an amount of memory; {_ACCEPTED} is accepted")
        number = float(found[1]) * _FOLDED[found[2].upper()]
    else:
        if isinstance(value, bool):
            raise TypeError(f"{name}={value!r} is not an amount of memory; {_ACCEPTED} is accepted")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name}={value!r} is not an amount of memory; {_ACCEPTED} is accepted") from None
    if not 1 <= number < 2**63:
        raise ValueError(f"{name}={value!r} is not accepted; at least one byte is")
    return int(number)


def available_memory() -> int:
    """Bytes that can be had without swapping: what the system says is free, less where a control group allows less."""
    found = []
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        found.append(1024 * int(re.findall(r"^MemAvailable:\s+(\d+) kB$", text, re.MULTILINE)[0]))
    except (OSError, IndexError):
        found.append(_physical_memory() // 2)
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(max(limit - int((group / "memory.current").read_text(encoding="ascii")), 0))
    except (OSError, ValueError):
        pass  # no control group of the second kind, or one without a limit ("max")
    return min(found)


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 4 * 2**30
