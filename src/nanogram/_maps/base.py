"""What every feature map shares: reading rows, fitting a path, transforming by it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from nanogram.projections import seed_from
from nanogram.rows import RowSource

from .encoder import Encoder, encode_rows
from .reading import read_rows
from .report import MapReport

__all__ = ["BaseMap"]


class BaseMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer from rows to codes; subclasses say what is fitted in `_fit_rows`."""

    output: str
    random_state: Any
    #: Maps that round stochastically make it a parameter.
    salt: int = 0
    report_: MapReport
    encoder_: Encoder

    @abstractmethod
    def _fit_rows(self, source: RowSource, seed: int) -> tuple[Encoder, MapReport]:
        """The path from rows to codes, and what is told about it."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the bandwidth, the grid and the code to rows, and draw the projection.

        Parameters
        ----------
        X : array, sparse matrix or array, frame, or stream of blocks, shape (n_samples, n_features)
            Anything `nanogram.rows.as_row_source` takes; read two or three times, block by block.
        y : ignored

        Returns
        -------
        self
        """
        del y
        self._check_output()
        source = read_rows(self, X, reset=True)
        self.seed_ = seed_from(self.random_state)
        notes: list[str] = []
        with _noting(notes):
            encoder, report = self._fit_rows(source, self.seed_)
        report.notes.extend(notes)
        self.encoder_, self.report_ = encoder, report
        self._n_features_out = encoder.n_columns
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows, block by block.

        Parameters
        ----------
        X : rows, as in `fit`
            A stream may be one that can be read only once.

        Returns
        -------
        CodeMatrix, or float32 array for ``output="array"``, of shape (n_samples, n_components)
        """
        check_is_fitted(self, "encoder_")
        self._check_output()
        source = read_rows(self, X, reset=False)
        return encode_rows(self.encoder_, source, self.output, self.salt, self.report_)

    def transform_blocks(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Encode blocks of rows one by one, as they come: a CodeMatrix (or array) for each.

        Parameters
        ----------
        blocks : iterable of rows
            Each of them as in `transform`.
        """
        for block in blocks:
            yield self.transform(block)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the parts by ``part__parameter`` (``code__bits``, ``projection__sparsity``).

        Parameters
        ----------
        **params
            A part reached into must be an object, as in ``code=UniformCode(bits=4)``, not a name.
        """
        for name in params:
            part, nested, inner = name.partition("__")
            held = params.get(part, getattr(self, part, None))
            if nested and held is not None and not hasattr(held, "set_params"):
                raise ValueError(
                    f"{name} needs {part} to be an object that has a parameter {inner!r}; {part}={held!r} is none "
                    f"(for example code=UniformCode(bits=4), projection=Ternary(sparsity=0.5))"
                )
        super().set_params(**params)
        return self

    def _check_output(self) -> None:
        if self.output not in ("codes", "array"):
            raise ValueError(f"output={self.output!r} is not known; 'codes' (a CodeMatrix) and 'array' are accepted")
        container = _get_output_config("transform", self)["dense"]
        if self.output == "codes" and container != "default":
            raise ValueError(
                f"set_output(transform={container!r}) needs values, and output='codes' gives packed codes; "
                f"use {type(self).__name__}(output='array', ...)"
            )

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are taken; float32 comes out whatever goes in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@contextmanager
def _noting(notes: list[str]) -> Iterator[None]:
    """Warnings go on to the caller, and their texts into the notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        notes.append(str(one.message))
