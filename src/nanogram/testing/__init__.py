"""Contract tests that a new code, matrix or op must pass."""

from .code_matrix import check_code_matrix
from .codes import check_code
from .ops import check_ops

__all__ = ["check_code", "check_code_matrix", "check_ops"]
