"""Exact kernels, block by block: the Gaussian and Laplacian, the arc-cosine kernels and any activation's.

Every function takes rows X (n, p) and, optionally, Y (k, p), of any kind that `nanogram.rows` reads.
The result is (n, k), float32 when both are float32 or float16 and float64 otherwise; the arithmetic is float64
throughout, because arccos near 1 turns an error e of a cosine into sqrt(2 e). Without Y the result is symmetric to the
bit and its diagonal is the exact value. ``diagonal=True`` gives the n values of the diagonal alone.
Beyond the result no more than one block is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from nanogram._bandwidth import resolve_gamma, row_scale
from nanogram.activations import Activation, CosSin, make_activation
from nanogram.activations._base import cosine
from nanogram.rows import RowSource, as_row_source

__all__ = ["arc_cosine", "laplacian", "of_activation", "rbf"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
#: Kernel entries of one block from its squared norms (rows, 1), (1, columns) and dot products.
OfDots = Callable[[Floats, Floats, Floats], Floats]

#: Float64 entries of one block: 8 MB for rows, columns and dot products each.
_BLOCK_ENTRIES = 2**20


def rbf(
    X: Any,
    Y: Any = None,
    *,
    gamma: float | str = "scale",
    diagonal: bool = False,
    block_rows: int | None = None,
) -> Array:
    """exp(-gamma |x - y|^2).

    Parameters
    ----------
    X : rows
        (n, p), anything `nanogram.rows.as_row_source` takes.
    Y : rows, optional
        (k, p); X when None.
    gamma : float, 'scale' or 'median'
        'scale' makes tau, the mean squared norm of the centred rows times sqrt(2 gamma), equal to 1;
        'median' is 1/(2 sigma^2), sigma the median distance. Both look at Y when it is given, so that
        ``rbf(X_new, X_train)`` belongs to ``rbf(X_train)``. See `nanogram._bandwidth.resolve_gamma`.
    diagonal : bool
        Only the kernel of each row with itself.
    block_rows : int, optional
        Rows and columns of a block; by default blocks of about 8 MB.

    Returns
    -------
    array of shape (n, k), or (n,) for the diagonal

    Examples
    --------
    >>> from nanogram import kernels
    >>> kernels.rbf([[0.0, 0.0], [1.0, 1.0]], gamma=0.5).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    X, Y = _two(X, Y)
    scale = row_scale(resolve_gamma(gamma, X if Y is None else Y))
    return _of_activation(CosSin(), X, Y, scale, diagonal, block_rows)


def laplacian(
    X: Any,
    Y: Any = None,
    *,
    gamma: float | str = "scale",
    diagonal: bool = False,
    block_rows: int | None = None,
) -> Array:
    """exp(-gamma |x - y|_1).

    Parameters
    ----------
    X, Y, diagonal, block_rows
        As in `rbf`.
    gamma : float, 'scale' or 'median'
        'scale' is 1 over the mean 1-norm of the centred rows, 'median' 1 over the median 1-norm distance.

    Returns
    -------
    array of shape (n, k), or (n,) for the diagonal

    Examples
    --------
    >>> from nanogram import kernels
    >>> kernels.laplacian([[0.0, 0.0]], [[1.0, 1.0]], gamma=0.5).round(4)
    array([[0.3679]])
    """
    X, Y = _two(X, Y)
    gamma = resolve_gamma(gamma, X if Y is None else Y, target="laplacian")

    def block(A: Any, B: Any) -> Floats:
        return np.asarray(np.exp(-gamma * _one_norm_distances(A, B)))

    return _by_blocks(X, Y, block, lambda A: np.ones(A.shape[0]), diagonal, block_rows)


def arc_cosine(
    X: Any, Y: Any = None, *, order: int = 1, diagonal: bool = False, block_rows: int | None = None
) -> Array:
    """The arc-cosine kernel of Cho and Saul, 2 E[(w.x)^order (w.y)^order 1[w.x > 0] 1[w.y > 0]], w ~ N(0, I).

    With cs the cosine of the angle theta between x and y:

        order 0: (pi - theta)/pi                                               = 2 x the kernel of 'step'
        order 1: |x||y| (sin theta + (pi - theta) cs)/pi                       = 2 x the kernel of 'relu'
        order 2: |x|^2|y|^2 (3 sin theta cs + (pi - theta)(1 + 2 cs^2))/pi

    on the diagonal 1, |x|^2 and 3 |x|^4. A row of zeros has the kernel 0 with every row, itself
    included, in every order: its features are 0.

    Parameters
    ----------
    X, Y, diagonal, block_rows
        As in `rbf`.
    order : {0, 1, 2}

    Returns
    -------
    array of shape (n, k), or (n,) for the diagonal

    Examples
    --------
    >>> from nanogram import kernels
    >>> kernels.arc_cosine([[1.0, 0.0], [0.0, 2.0]], order=0)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    X, Y = _two(X, Y)
    if order not in (0, 1, 2) or isinstance(order, bool):
        raise ValueError(f"order={order!r} must be 0, 1 or 2")

    def of_dots(xx: Floats, xy: Floats, yy: Floats) -> Floats:
        cs, norms = cosine(xx, xy, yy)
        rest = np.pi - np.arccos(cs)
        if order == 0:
            return np.where(norms > 0, rest / np.pi, 0.0)
        sine = np.sqrt((1 - cs) * (1 + cs))
        if order == 1:
            return np.asarray(norms * (sine + rest * cs) / np.pi)
        return np.asarray(norms**2 * (3 * sine * cs + rest * (1 + 2 * cs * cs)) / np.pi)

    def of_squares(xx: Floats) -> Floats:
        return np.where(xx > 0, [1.0, 1.0, 3.0][order] * xx**order, 0.0)

    return _dot_product_kernel(X, Y, of_dots, of_squares, 1.0, diagonal, block_rows)


def of_activation(
    activation: str | Activation | Callable[..., Any],
    X: Any,
    Y: Any = None,
    *,
    gamma: float | str | None = None,
    diagonal: bool = False,
    block_rows: int | None = None,
) -> Array:
    """E[s(w.x) s(w.y)], w ~ N(0, I), summed over the features of a projection: what the random features approach.

    Parameters
    ----------
    activation : str, Activation or callable
        As `nanogram.activations.make_activation` takes it.
    X, Y, diagonal, block_rows
        As in `rbf`.
    gamma : float, 'scale', 'median' or None
        Scales the rows by sqrt(2 gamma) first, as feature maps do; None leaves them as they are.

    Returns
    -------
    array of shape (n, k), or (n,) for the diagonal

    Examples
    --------
    >>> from nanogram import kernels
    >>> kernels.of_activation("sign", [[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])
    array([[ 1.,  0., -1.],
           [ 0.,  1.,  0.],
           [-1.,  0.,  1.]])
    """
    X, Y = _two(X, Y)
    scale = 1.0 if gamma is None else row_scale(resolve_gamma(gamma, X if Y is None else Y))
    return _of_activation(make_activation(activation), X, Y, scale, diagonal, block_rows)


# ---------------------------------------------------------------------- blocks


def _of_activation(
    activation: Activation, X: RowSource, Y: RowSource | None, scale: float, diagonal: bool, block_rows: int | None
) -> Array:
    return _dot_product_kernel(X, Y, activation.kernel_from_dots, activation.second_moment, scale, diagonal, block_rows)


def _dot_product_kernel(
    X: RowSource,
    Y: RowSource | None,
    of_dots: OfDots,
    of_squares: Callable[[Floats], Floats],
    scale: float,
    diagonal: bool,
    block_rows: int | None,
) -> Array:
    """A kernel that is a function of dot products and squared norms, of rows times ``scale``."""
    square = scale * scale

    def block(A: Any, B: Any) -> Floats:
        dots = A @ B.T
        dots = np.asarray(dots.toarray() if sp.issparse(dots) else dots)
        return of_dots(square * _squares(A)[:, None], square * dots, square * _squares(B)[None, :])

    return _by_blocks(X, Y, block, lambda A: of_squares(square * _squares(A)), diagonal, block_rows)


def _by_blocks(
    X: RowSource,
    Y: RowSource | None,
    block: Callable[[Any, Any], Floats],
    on_diagonal: Callable[[Any], Floats],
    diagonal: bool,
    block_rows: int | None,
) -> Array:
    """The kernel matrix from its blocks, each of rows as float64; the upper triangle mirrored where Y is None."""
    step = _block_rows(X, block_rows)
    dtype = _dtype(X) if Y is None else np.result_type(_dtype(X), _dtype(Y))
    if diagonal:
        if Y is not None:
            raise ValueError("diagonal=True gives the kernel of each row of X with itself; Y must be None")
        return np.concatenate([on_diagonal(A) for _, A in _read(X, step)]).astype(dtype, copy=False)
    n = _count(X, step)
    K = np.empty((n, n if Y is None else _count(Y, step)), dtype=dtype)
    for start, A in _read(X, step):
        rows = slice(start, start + A.shape[0])
        for other, B in _read(X if Y is None else Y, step, start if Y is None else 0):
            columns = slice(other, other + B.shape[0])
            if Y is not None:
                K[rows, columns] = block(A, B)
            elif other > start:
                K[rows, columns] = block(A, B)
                K[columns, rows] = K[rows, columns].T
            else:
                # BLAS need not give the two halves of A A^T alike.
                half = np.triu(block(A, A), 1)
                K[rows, columns] = half + half.T
                np.fill_diagonal(K[rows, columns], on_diagonal(A))
    return K


def _read(source: RowSource, step: int, first: int = 0) -> Iterator[tuple[int, Any]]:
    """Blocks of float64 rows (csr for sparse sources) from row ``first`` on, a multiple of ``step``."""
    if source.random_access and source.n_rows is not None:
        for start in range(first, source.n_rows, step):
            rows = np.arange(start, min(start + step, source.n_rows))
            yield start, source.take(rows, np.float64, sparse="keep")
    else:
        yield from ((start, block) for start, block in source.blocks(step, np.float64, sparse="keep") if start >= first)


def _count(source: RowSource, step: int) -> int:
    """Number of rows, by reading them where a stream does not know."""
    n = source.n_rows
    if n is None:
        n = sum(block.shape[0] for _, block in source.blocks(step, sparse="keep", check_finite=False))
    if not n:
        raise ValueError("found no rows; a kernel takes at least one")
    return n


def _two(X: Any, Y: Any) -> tuple[RowSource, RowSource | None]:
    X = as_row_source(X)
    if Y is None:
        return X, None
    try:
        Y = as_row_source(Y)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Y: {error}") from error
    if X.n_columns != Y.n_columns:
        raise ValueError(f"X has {X.n_columns} columns and Y has {Y.n_columns}; they must have the same number")
    return X, Y


def _dtype(source: RowSource) -> np.dtype[Any]:
    return np.dtype(np.float32 if source.dtype in (np.float16, np.float32) else np.float64)


def _block_rows(source: RowSource, block_rows: int | None) -> int:
    if block_rows is None:
        return int(max(16, min(np.sqrt(_BLOCK_ENTRIES), _BLOCK_ENTRIES // source.n_columns)))
    if isinstance(block_rows, bool) or block_rows != int(block_rows) or block_rows < 1:
        raise ValueError(f"block_rows={block_rows!r} must be a positive integer or None")
    return int(block_rows)


def _squares(A: Any) -> Floats:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _one_norm_distances(A: Any, B: Any) -> Floats:
    if sp.issparse(A) or sp.issparse(B):
        from sklearn.metrics.pairwise import manhattan_distances

        return np.asarray(manhattan_distances(sp.csr_matrix(A), sp.csr_matrix(B)))
    return np.asarray(cdist(A, B, "cityblock"))
