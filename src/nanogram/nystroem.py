"""Nystroem features: the kernel against landmarks, times the inverse root of the kernel among them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy import linalg

from . import kernels
from ._maps.base import BaseMap
from ._maps.encoder import Encoder, Saturated, tile_rows
from ._maps.float_path import rounding_keys
from ._maps.recipe import checked_count, column_ranges, outside_range
from ._maps.report import MapReport
from ._maps.scaling import Scaling, fit_scaling
from .activations import ACTIVATIONS
from .codes import Code, FloatCode, UniformCode
from .projections import Stream
from .rows import RowSource

__all__ = ["NystroemFeatures"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Kernel = str | Callable[[Any, Any], Any]

#: Eigenvalues below this share of the largest are rounding: their directions are left out.
EIGENVALUE_CUT = 1e-12
#: Doubles of one block, of rows or of kernel values, whichever is wider.
BLOCK_DOUBLES = 2**19
#: Rows that the ranges of a quantised map are read from.
RANGE_ROWS = 2048
#: Rows a landmark among which k-means++ chooses.
CANDIDATES = 4


class NystroemFeatures(BaseMap):
    """Features whose kernel is the Nystroem approximation K_xm K_mm^-1 K_mx, from landmarks among the rows.

    Columns are ``k(x, landmarks) K_mm^(-1/2)``. With ``ensemble`` = q the landmarks are split into q groups, each with
    its own root, and the kernel is the mean of the q approximations.

    Parameters
    ----------
    n_components : int, default=1024
        Number of landmarks, and columns of the output; at most the number of rows.
    kernel : str or callable, default="rbf"
        "rbf", "laplacian", "arc_cosine", an activation whose kernel is meant, or a function of two matrices of
        rows (dense, or csr for sparse rows) that returns their kernel matrix.
    gamma : float, "scale" or "median", default="scale"
        The kernel's; without effect on "arc_cosine" and functions.
    ensemble : int, default=1
        Number of groups; each costs a share of the cubes of one.
    bits : {1, 2, 4, 8, 16} or None, default=None
        Bits of a feature, each column with the range of its values on rows of fit (LP); None for float32.
    rounding : {"stochastic", "nearest"}, default="stochastic"
        Stochastic noise depends on the row's content, the column and ``salt`` alone.
    landmarks : {"uniform", "kmeans++"}, default="uniform"
        Rows drawn alike, or spread out by k-means++ from four times as many.
    output, random_state, salt
        As of `nanogram.FeatureMap`.

    Attributes
    ----------
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
    rank_ : int
        Directions kept; K_mm of fewer than ``n_components`` has the rest cut.
    code_ : Code
    gamma_ : float
    report_ : MapReport

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram import NystroemFeatures, kernels
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> Z = NystroemFeatures(n_components=100, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - kernels.rbf(X, gamma="scale")).mean() < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int = 1024,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        ensemble: int = 1,
        bits: int | None = None,
        *,
        rounding: str = "stochastic",
        landmarks: str = "uniform",
        output: str = "codes",
        random_state: Any = None,
        salt: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.ensemble = ensemble
        self.bits = bits
        self.rounding = rounding
        self.landmarks = landmarks
        self.output = output
        self.random_state = random_state
        self.salt = salt

    def _fit_rows(self, source: RowSource, seed: int) -> tuple[Encoder, MapReport]:
        count = checked_count(self.n_components)
        code = _uniform_or_float(self.bits, self.rounding)
        kernel = _checked_kernel(self.kernel)
        scaling = fit_scaling(source, self.gamma, "laplacian" if kernel == "laplacian" else "rbf", True, seed)
        if count > scaling.n_rows:
            warnings.warn(
                f"n_components={count} exceeds the {scaling.n_rows} rows; all of them are landmarks",
                UserWarning,
                stacklevel=2,
            )
            count = scaling.n_rows
        n_groups = checked_count(self.ensemble, "ensemble")
        if n_groups > count:
            raise ValueError(f"ensemble={n_groups} is not accepted; 1 to the number of landmarks, {count}, is")
        rows = _choose(source, self.landmarks, count, seed)
        # In random order, so that the groups of an ensemble are alike.
        rows = rows[Stream(seed, "nystroem.order").permutation(count)]
        groups = np.array_split(np.arange(count), n_groups)
        roots, rank = [], 0
        for group in groups:
            root, kept = _inverse_root(_kernel_matrix(kernel, scaling.gamma, rows[group], rows[group]))
            roots.append(root / np.sqrt(n_groups))
            rank += kept
        encoder = NystroemPath(rows, tuple(roots), kernel, scaling, seed, code)
        if isinstance(code, UniformCode):
            drawn: Any = source.sample(RANGE_ROWS, (seed + 1) % 2**32, np.float64, sparse="keep").X
            values = np.vstack(
                [
                    encoder.values(drawn[i : i + encoder.block_rows])
                    for i in range(0, drawn.shape[0], encoder.block_rows)
                ]
            )
            # Of other rows, one in so many lies beyond each end of a column's range.
            share = 2 / (len(values) + 1)
            encoder = NystroemPath(rows, tuple(roots), kernel, scaling, seed, column_ranges(code, values), share)
        self.landmarks_, self.rank_ = rows, rank
        self.code_, self.gamma_ = encoder.code, scaling.gamma
        report = MapReport(
            path=encoder.path,
            projection=f"{count} landmarks, {self.landmarks}",
            activation=f"kernel {kernel if isinstance(kernel, str) else getattr(kernel, '__name__', kernel)}",
            code=repr(code),
            gamma=scaling.gamma,
            scale=scaling.scale,
            tau=scaling.tau,
            fitted_bytes=encoder.nbytes,
            row_bytes=encoder.code.bits * count / 8,
            multiply_adds=count * source.n_columns + sum(root.size for root in roots),
            share_at_fit=encoder.share_at_fit,
            notes=[] if rank == count else [f"K_mm has rank {rank} of {count}: the other directions are cut"],
        )
        return encoder, report


@dataclass(frozen=True, eq=False)
class NystroemPath:
    """Landmarks and roots; see `nanogram._maps.encoder.Encoder`."""

    landmarks: Any
    roots: tuple[Floats, ...]
    kernel: Kernel
    scaling: Scaling
    seed: int
    code: Code
    share_at_fit: float = 0.0

    path = "float"
    grid_bits = None

    @property
    def n_columns(self) -> int:
        return sum(len(root) for root in self.roots)

    @property
    def block_rows(self) -> int:
        return tile_rows(BLOCK_DOUBLES // max(self.n_columns, self.scaling.mean.size))

    @property
    def nbytes(self) -> int:
        rows = self.landmarks
        stored = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes if sp.issparse(rows) else rows.nbytes
        decoder = 0 if self.code.n_columns is None else 16 * self.code.n_columns
        return int(stored) + sum(root.nbytes for root in self.roots) + decoder

    def noise(self, salt: int) -> Stream | None:
        stochastic = isinstance(self.code, UniformCode) and self.code.rounding == "stochastic"
        return Stream(self.seed, "map.rounding", salt) if stochastic else None

    def values(self, block: Any) -> npt.NDArray[np.float32]:
        """Features of a block of rows."""
        block = block.astype(np.float64)
        if sp.issparse(block) != sp.issparse(self.landmarks):
            # Rows of one kind with landmarks of the other: those of fit decide.
            block = block.toarray() if sp.issparse(block) else sp.csr_array(block)
        out = np.empty((block.shape[0], self.n_columns), dtype=np.float32)
        start = 0
        for root in self.roots:
            group = slice(start, start + len(root))
            out[:, group] = _kernel_matrix(self.kernel, self.scaling.gamma, block, self.landmarks[group]) @ root
            start = group.stop
        return out

    def encode_into(self, block: Any, out: Array, noise: Stream | None) -> Saturated:
        values = self.values(block)
        if not isinstance(self.code, UniformCode):
            out[...] = self.code.encode(values)
            return Saturated(0, 0)
        words = None if noise is None else noise.bits(rounding_keys(block, self.scaling), values.shape[1])
        out[...] = self.code.pack(self.code.encode(values, words=words))
        return Saturated(values.size, outside_range(self.code, values))


def _uniform_or_float(bits: int | None, rounding: str) -> Code:
    """A code of so many bits, its parameters checked."""
    if bits is None:
        return FloatCode()
    code = UniformCode(bits, rounding)
    code.to_json()
    return code


def _checked_kernel(kernel: Any) -> Kernel:
    names = ("rbf", "laplacian", "arc_cosine", *(name for name in ACTIVATIONS if name != "rbf"))
    if not callable(kernel) and kernel not in names:
        raise ValueError(f"kernel={kernel!r} is not known; a function or one of {', '.join(names)} is accepted")
    accepted: Kernel = kernel
    return accepted


def _kernel_matrix(kernel: Kernel, gamma: float, A: Any, B: Any) -> Floats:
    """The kernel of rows A against rows B, in double."""
    if not isinstance(kernel, str):
        found = np.asarray(kernel(A, B), dtype=np.float64)
        if found.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"kernel={kernel!r} returned shape {found.shape} for {A.shape[0]} and {B.shape[0]} rows; "
                "a function of two matrices is accepted"
            )
        return found
    if kernel == "rbf":
        return np.asarray(kernels.rbf(A, B, gamma=gamma), dtype=np.float64)
    if kernel == "laplacian":
        return np.asarray(kernels.laplacian(A, B, gamma=gamma), dtype=np.float64)
    if kernel == "arc_cosine":
        return np.asarray(kernels.arc_cosine(A, B), dtype=np.float64)
    return np.asarray(kernels.of_activation(kernel, A, B, gamma=gamma), dtype=np.float64)


def _inverse_root(K: Floats) -> tuple[Floats, int]:
    """K^(-1/2) on the directions above the cut, and their number."""
    if not np.isfinite(K).all():
        raise ValueError("the kernel of the landmarks is not finite")
    values, vectors = linalg.eigh((K + K.T) / 2)
    kept = values > EIGENVALUE_CUT * max(values[-1], 0.0)
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(scaled @ vectors[:, kept].T), int(kept.sum())


def _choose(source: RowSource, how: str, count: int, seed: int) -> Any:
    """Landmarks, dense or csr."""
    if how not in ("uniform", "kmeans++"):
        raise ValueError(f"landmarks={how!r} is not known; 'uniform' and 'kmeans++' are accepted")
    n = count if how == "uniform" else CANDIDATES * count
    rows: Any = source.sample(n, seed % 2**32, np.float64, sparse="keep").X
    if how == "uniform":
        return rows
    from sklearn.cluster import kmeans_plusplus  # here: it loads a quarter of scikit-learn, and rich where there is any

    _, index = kmeans_plusplus(rows, count, random_state=seed % 2**32)
    return rows[np.sort(index)]
