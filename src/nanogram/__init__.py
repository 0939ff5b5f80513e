"""nanogram: kernel machines that weigh almost nothing.

FeatureMap          projection x activation x code: rows in, packed codes out
TernaryFeatures     designed codes of two to four levels, for any target
FourierFeatures     random Fourier features, float or 1 to 16 bits
ArcCosineFeatures   the arc-cosine kernels of order 0 and 1
NystroemFeatures    any kernel through landmarks, float or quantised
CodeMatrix          packed codes and their products
CodeRidge           ridge regression on codes; CodeRidgeCV, CodeRidgeClassifier
CodeLogisticRegression, CodeLinearSVC, CodeRegressor
                    other losses, by Newton's method on products of codes
StreamedFeatures    a feature map whose codes are stored, or made anew in each pass
CodePCA             principal components of codes
CodeSGDClassifier   mini-batches, low-precision models; CodeSGDRegressor
CodeKMeans          mini-batch k-means on codes
hstack, vstack      code matrices side by side, one under the other
codes               values to small integers and back
ops                 the compute routines, and which instruction set runs them
datasets, rows      real data; rows of any kind, block by block
testing             contract tests for new codes, matrices and ops
"""

from . import codes, ops
from ._version import __version__
from .cluster import CodeKMeans
from .code_matrix import CodeMatrix, hstack, vstack
from .decomposition import CodePCA
from .feature_map import FeatureMap
from .linear_model import (
    CodeLinearSVC,
    CodeLogisticRegression,
    CodeRegressor,
    CodeRidge,
    CodeRidgeClassifier,
    CodeRidgeCV,
    CodeSGDClassifier,
    CodeSGDRegressor,
)
from .nystroem import NystroemFeatures
from .presets import ArcCosineFeatures, FourierFeatures, TernaryFeatures
from .streamed_features import StreamedFeatures

__all__ = [
    "ArcCosineFeatures",
    "CodeKMeans",
    "CodeLinearSVC",
    "CodeLogisticRegression",
    "CodeMatrix",
    "CodePCA",
    "CodeRegressor",
    "CodeRidge",
    "CodeRidgeCV",
    "CodeRidgeClassifier",
    "CodeSGDClassifier",
    "CodeSGDRegressor",
    "FeatureMap",
    "FourierFeatures",
    "NystroemFeatures",
    "StreamedFeatures",
    "TernaryFeatures",
    "__version__",
    "codes",
    "hstack",
    "ops",
    "vstack",
]
