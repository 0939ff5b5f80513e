r"""``A = L L^T`` in place, panel by panel.

LAPACK's own routine is not called on the whole matrix: the OpenBLAS 0.3.30 that SciPy brings crashes the process in
dpotrf with several threads from about 16,000 rows on. Panels also keep the workspace small and let Ctrl-C through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, lapack, solve_triangular

__all__ = ["cholesky_in_place", "cholesky_solve", "triangular_solve"]

Array = npt.NDArray[Any]

#: Columns of a panel, and rows of it that are updated at a time.
PANEL = 512
STRIP = 4096


def cholesky_in_place(A: Array, panel: int = PANEL) -> Array:
    """Overwrite the lower triangle of a symmetric, positive definite matrix by its factor L; return ``A``.

    For each panel j of columns, left-looking:  A_j -= L_{:, <j} L_{j, <j}^T,  then L_jj L_jj^T = A_jj  and
    L_ij = A_ij L_jj^-T.  The part above the diagonal is left as it was.

    Parameters
    ----------
    A : array of shape (n, n)
        Contiguous in either order, float32 or float64.
    panel : int
        Columns factored at a time.

    Raises
    ------
    LinAlgError
        If a leading minor is not positive; ``A`` is then spoilt.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.linear_model._cholesky import cholesky_in_place
    >>> np.tril(cholesky_in_place(np.array([[4.0, 2.0], [2.0, 5.0]])))
    array([[2., 0.],
           [1., 2.]])
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.dtype not in (np.float32, np.float64) or not A.flags.forc:
        raise ValueError(f"A {A.shape} of {A.dtype}: a square, contiguous array of float32 or float64 is accepted")
    n = len(A)
    potrf, trtrs = lapack.get_lapack_funcs(("potrf", "trtrs"), (A,))
    for j in range(0, n, panel):
        stop = min(j + panel, n)
        before = A[j:stop, :j]
        for i in range(j, n, STRIP):
            rows = slice(i, min(i + STRIP, n))
            if j:
                # Of the panel's own rows the part right of the diagonal must stay.
                update = A[rows, :j] @ before.T
                below = max(stop, rows.start)
                if i < stop:
                    head = slice(i, min(stop, rows.stop))
                    A[head, j:stop] -= np.tril(update[: head.stop - i])
                if below < rows.stop:
                    A[below : rows.stop, j:stop] -= update[below - i :]
        square = np.tril(A[j:stop, j:stop])
        factor, info = potrf(square, lower=1, clean=1)
        if info:
            raise LinAlgError(f"the leading minor of order {j + abs(info)} is not positive")
        A[j:stop, j:stop] = np.triu(A[j:stop, j:stop], 1) + factor
        for i in range(stop, n, STRIP):
            strip = A[i : i + STRIP, j:stop]
            strip[...] = trtrs(factor, np.asfortranarray(strip.T), lower=1, overwrite_b=1)[0].T
    return A


def triangular_solve(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """``L^-1 B``, or ``L^-T B``; only the lower triangle of L is read."""
    # Of an array in C order the transpose is what LAPACK reads without a copy.
    if L.flags.f_contiguous:
        return np.asarray(solve_triangular(L, B, lower=True, trans=1 if transposed else 0, check_finite=False))
    return np.asarray(solve_triangular(L.T, B, lower=False, trans=0 if transposed else 1, check_finite=False))


def cholesky_solve(L: Array, B: Array) -> Array:
    """``(L L^T)^-1 B``.

    Examples
    --------
    >>> import numpy as np
    >>> from nanogram.linear_model._cholesky import cholesky_in_place, cholesky_solve
    >>> L = cholesky_in_place(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> cholesky_solve(L, np.array([8.0, 8.0]))
    array([1.5, 1. ])
    """
    return triangular_solve(L, triangular_solve(L, B), transposed=True)
