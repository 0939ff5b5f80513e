"""nanogram: kernel machines that weigh almost nothing.

CodeMatrix          packed codes and their products
hstack, vstack      code matrices side by side, one under the other
codes               values to small integers and back
ops                 the compute routines, and which instruction set runs them
datasets, rows      real data; rows of any kind, block by block
testing             contract tests for new codes, matrices and ops
"""

from . import codes, ops
from ._version import __version__
from .code_matrix import CodeMatrix, hstack, vstack

__all__ = ["CodeMatrix", "__version__", "codes", "hstack", "ops", "vstack"]
