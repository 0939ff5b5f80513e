"""`StreamedFeatures`: a feature map whose codes are stored or made anew in each pass, a step of a pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config
from sklearn.utils._tags import get_tags
from sklearn.utils.validation import check_is_fitted

from ._maps.base import BaseMap
from .code_matrix import CodeMatrix
from .streamed import STORAGES, StreamedCodes, encode

__all__ = ["StreamedFeatures"]


class StreamedFeatures(TransformerMixin, BaseEstimator):
    """Features by a feature map, with a choice whether their codes are stored.

    Parameters
    ----------
    feature_map : feature map
        `FeatureMap` or one of its presets, with ``output="codes"``; a clone of it is fitted.
    storage : {"auto", "stored", "streamed"}, default="auto"
        ``"stored"``: a `CodeMatrix`. ``"streamed"``: `nanogram.streamed.StreamedCodes`, which encode the rows anew
        in each pass of a solver, so that it needs the memory of its model and one block; each pass then costs an
        encoding. ``"auto"``: stored where the codes and 8 MiB of workspace fit in ``max_memory``.
    max_memory : int, float or str, default=None
        Bytes, or such as ``"64MB"``; None: half of what the machine has left.

    Attributes
    ----------
    feature_map_ : fitted feature map
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where rows have names

    Notes
    -----
    Streamed codes refer to the rows they were made of, and equal stored ones to the bit. Rows must be there for
    many passes: arrays, frames, memory maps, Parquet files, or a function that makes an iterator of blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from nanogram import CodeRidge, StreamedFeatures, TernaryFeatures
    >>> X = np.random.default_rng(0).standard_normal((1000, 5))
    >>> features = StreamedFeatures(TernaryFeatures(512, random_state=0), storage="streamed")
    >>> model = make_pipeline(features, CodeRidge(solver="cg")).fit(X, X[:, 0] * X[:, 1])
    >>> model.predict(X[:3]).shape
    (3,)
    """

    def __init__(self, feature_map: Any, storage: str = "auto", max_memory: int | float | str | None = None) -> None:
        self.feature_map = feature_map
        self.storage = storage
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map to rows.

        Parameters
        ----------
        X : rows, as the map takes them
        y : ignored
        """
        self._check()
        self.feature_map_ = clone(self.feature_map).fit(X, y)
        return self

    def transform(self, X: Any) -> CodeMatrix | StreamedCodes:
        """Codes of rows, stored or streamed.

        Parameters
        ----------
        X : rows, as the map takes them
        """
        check_is_fitted(self, "feature_map_")
        self._check()
        return encode(self.feature_map_, X, self.storage, self.max_memory)

    def _check(self) -> None:
        if not isinstance(self.feature_map, BaseMap):
            raise TypeError(
                f"feature_map is {type(self.feature_map).__name__}; a feature map of this package is accepted"
            )
        if self.feature_map.output != "codes":
            raise ValueError(f"feature_map has output={self.feature_map.output!r}; 'codes' is accepted here")
        if self.storage not in STORAGES:
            raise ValueError(f"storage={self.storage!r} is not known; {', '.join(map(repr, STORAGES))} are accepted")
        container = _get_output_config("transform", self)["dense"]
        if container != "default":
            raise ValueError(f"set_output(transform={container!r}) needs values, and these are packed codes")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the features, as the map gives them."""
        check_is_fitted(self, "feature_map_")
        return np.asarray(self.feature_map_.get_feature_names_out(input_features))

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows of fit."""
        check_is_fitted(self, "feature_map_")
        return int(self.feature_map_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns of fit."""
        check_is_fitted(self, "feature_map_")
        return self.feature_map_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.feature_map, BaseMap):
            tags.input_tags = get_tags(self.feature_map).input_tags
        tags.transformer_tags.preserves_dtype = []
        return tags
