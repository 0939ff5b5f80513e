"""Codes from short names and from files."""

from __future__ import annotations

import numbers
from typing import Any

from .base import Code
from .floats import FloatCode
from .step import StepCode
from .uniform import UniformCode

__all__ = ["code_from_json", "make_code"]

_KINDS: dict[str, type[Code]] = {kind.kind: kind for kind in (FloatCode, UniformCode, StepCode)}
_NAMES: dict[str, Code] = {
    "float32": FloatCode("float32"),
    "float16": FloatCode("float16"),
    **{f"uniform{bits}": UniformCode(bits) for bits in (1, 2, 4, 8, 16)},
    **{f"step{levels}": StepCode(levels) for levels in (2, 3, 4)},
    "binary": StepCode(2),
    "ternary": StepCode(3),
}


def make_code(code: Code | str | int) -> Code:
    """The code of that name, or of that many uniform bits; a code passes through.

    Parameters
    ----------
    code : Code, str or int
        ``"float32"``, ``"float16"``, ``"uniform4"`` (or 1, 2, 8, 16, also as a number), ``"binary"``,
        ``"ternary"``, ``"step2"`` to ``"step4"`` (step codes to be designed where they are used).

    Examples
    --------
    >>> from nanogram.codes import make_code
    >>> make_code(8)
    UniformCode(bits=8)
    >>> make_code("ternary").bits
    2.0
    """
    if isinstance(code, Code):
        return code
    name = code
    if isinstance(code, numbers.Integral) and not isinstance(code, bool):
        name = f"uniform{code}"
    if not isinstance(name, str) or name not in _NAMES:
        raise ValueError(f"code={code!r} is not known; a code object or one of {', '.join(_NAMES)} is accepted")
    found = _NAMES[name]
    return type(found)(**found.get_params(deep=False))


def code_from_json(fields: dict[str, Any]) -> Code:
    """The code that `Code.to_json` described; every field is checked, since files may be hostile.

    Examples
    --------
    >>> from nanogram.codes import UniformCode, code_from_json
    >>> code_from_json(UniformCode(bits=2).to_json())
    UniformCode(bits=2)
    """
    if not isinstance(fields, dict):
        raise ValueError(f"a code is stored as a JSON object, not as {type(fields).__name__}")
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"code field 'kind': {str(kind)[:40]!r} is not known; choose one of {', '.join(_KINDS)}")
    return _KINDS[kind]._from_json(fields)
