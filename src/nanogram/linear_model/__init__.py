"""Linear models trained straight on codes; they see products, Gram matrices and rows, and never unpack the matrix.

CodeRidge               ridge regression
CodeRidgeCV             ridge regression that chooses alpha
CodeRidgeClassifier     classes by ridge regression
"""

from .ridge import CodeRidge
from .ridge_classifier import CodeRidgeClassifier
from .ridge_cv import CodeRidgeCV

__all__ = [
    "CodeRidge",
    "CodeRidgeCV",
    "CodeRidgeClassifier",
]
