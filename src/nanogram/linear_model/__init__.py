"""Linear models trained straight on codes; they see products, Gram matrices and rows, and never unpack the matrix.

CodeRidge               ridge regression
"""

from .ridge import CodeRidge

__all__ = [
    "CodeRidge",
]
