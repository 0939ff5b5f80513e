"""Codes in JSON: doubles as hexadecimal strings, and reading that trusts nothing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")


def floats_to_json(value: Any) -> Any:
    """A number as a string, an array as a list of strings."""
    array = np.asarray(value, dtype=np.float64)
    return [float(v).hex() for v in array] if array.ndim else float(array).hex()


def float_from_json(value: Any, name: str) -> float:
    """The double that a string made by `floats_to_json` stands for."""
    if isinstance(value, str) and _HEX.fullmatch(value):
        try:
            return float.fromhex(value)
        except OverflowError:
            pass
    raise ValueError(f"code field {name!r}: {str(value)[:40]!r} is not a finite float in hexadecimal")


def float_list_from_json(value: Any, name: str, longest: int | None = None) -> npt.NDArray[np.float64]:
    """The doubles of a list of strings."""
    if not isinstance(value, list) or (longest is not None and len(value) > longest):
        limit = "" if longest is None else f" of at most {longest}"
        raise ValueError(f"code field {name!r} is not a list{limit} of floats in hexadecimal")
    return np.array([float_from_json(item, name) for item in value], dtype=np.float64)


def json_fields(fields: Any, expected: tuple[str, ...]) -> None:
    """ValueError unless ``fields`` is a dict of exactly the expected names."""
    if not isinstance(fields, dict):
        raise ValueError(f"a code is stored as a JSON object, not as {type(fields).__name__}")
    missing = sorted(set(expected) - set(fields))
    extra = sorted(str(name)[:40] for name in set(fields) - set(expected))
    if missing or extra:
        raise ValueError(f"code has wrong fields: missing {missing}, unknown {extra[:8]}; expected {sorted(expected)}")
