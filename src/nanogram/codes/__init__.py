"""Codes: values to small integers and back.

FloatCode     no code, 32 or 16 bits
UniformCode   equally spaced levels, stochastic or nearest rounding, 1 to 16 bits
StepCode      thresholds and levels, 1, 1.6, 2 or 4 bits
"""

from .base import Code
from .floats import FloatCode
from .make import code_from_json, make_code
from .step import StepCode
from .uniform import UniformCode

__all__ = ["Code", "FloatCode", "StepCode", "UniformCode", "code_from_json", "make_code"]
