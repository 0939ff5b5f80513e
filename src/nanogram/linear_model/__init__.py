"""Linear models trained straight on codes; they see products, Gram matrices and rows, and never unpack the matrix.

CodeRidge               ridge regression
CodeRidgeCV             ridge regression that chooses alpha
CodeRidgeClassifier     classes by ridge regression
CodeLogisticRegression  logistic regression of two or more classes
CodeLinearSVC           support vector classification with the squared hinge
CodeRegressor           Huber, quantile, Poisson and epsilon-insensitive regression
CodeSGDClassifier       classes by mini-batches; low-precision models
CodeSGDRegressor        numbers by mini-batches
"""

from .logistic import CodeLogisticRegression
from .regressor import CodeRegressor
from .ridge import CodeRidge
from .ridge_classifier import CodeRidgeClassifier
from .ridge_cv import CodeRidgeCV
from .sgd_classifier import CodeSGDClassifier
from .sgd_regressor import CodeSGDRegressor
from .svm import CodeLinearSVC

__all__ = [
    "CodeLinearSVC",
    "CodeLogisticRegression",
    "CodeRegressor",
    "CodeRidge",
    "CodeRidgeCV",
    "CodeRidgeClassifier",
    "CodeSGDClassifier",
    "CodeSGDRegressor",
]
