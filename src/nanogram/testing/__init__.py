"""Contract tests that a new code, matrix, projection or op must pass."""

from .code_matrix import check_code_matrix
from .codes import check_code
from .ops import check_ops
from .projections import check_projection

__all__ = ["check_code", "check_code_matrix", "check_ops", "check_projection"]
