"""Clustering of codes.

CodeKMeans              mini-batch k-means, centres in double
"""

from .kmeans import CodeKMeans

__all__ = [
    "CodeKMeans",
]
