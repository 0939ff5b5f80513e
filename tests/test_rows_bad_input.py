"""RowSource refuses what is not rows of finite numbers, and says where it is."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from nanogram.rows import RowSource, as_row_source, from_parts


def collected(source, block_rows, **options):
    blocks = [block for _, block in source.blocks(block_rows, **options)]
    return np.concatenate([block.toarray() if sp.issparse(block) else block for block in blocks])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["array", "csr", "stream", "pandas", "polars", "parts"])
def test_what_is_not_finite_is_named_by_row_and_column(value, kind):
    X = np.ones((9, 3), dtype=np.float32)
    X[7, 1] = X[8, 0] = value
    names = ["u", "v", "w"]
    source: RowSource = {
        "array": lambda: as_row_source(X, feature_names=names),
        "csr": lambda: as_row_source(sp.csr_matrix(X), feature_names=names),
        "stream": lambda: as_row_source(lambda: iter([X[:5], X[5:]]), feature_names=names),
        "pandas": lambda: as_row_source(pd.DataFrame(X, columns=names)),
        "polars": lambda: as_row_source(pl.DataFrame(X, schema=names)),
        "parts": lambda: from_parts([X[:5], pd.DataFrame(X[5:], columns=names)]),
    }[kind]()
    what = "NaN" if np.isnan(value) else "infinity"
    for options in ({}, {"sparse": "keep"}):
        with pytest.raises(ValueError, match=rf"Input X contains {what}.*: column 1 \('v'\), row 7$"):
            collected(source, 4, **options)
        with pytest.raises(ValueError, match=r"column 1 \('v'\), row 7$"):
            source.take([0, 7], **options)
    assert collected(source, 4, check_finite=False).shape == X.shape
    assert source.take([7], check_finite=False).shape == (1, 3)


def test_values_too_large_for_float32_are_named_and_large_ones_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"too large for float32: column 1, row 0"):
            collected(as_row_source([[1.0, 1e300]]), 1, dtype="float32")
        # Finite values whose sum is not.
        assert collected(as_row_source(np.full((3, 3), 3e38, dtype=np.float32)), 2).shape == (3, 3)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.ones(3), ValueError, r"Expected 2D array, got 1D array instead .*Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, "Expected 2D array, got 3D"),
        (np.ones((2, 0)), ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
        (sp.csr_array((2, 0)), ValueError, r"0 feature\(s\)"),
        (pd.DataFrame(index=[1, 2]), ValueError, r"0 feature\(s\)"),
        (pl.DataFrame(), ValueError, r"0 feature\(s\)"),
        ([], ValueError, "Expected 2D array"),
        (np.ones((2, 2), dtype=complex), ValueError, "Complex data not supported"),
        (np.array([["a", "b"]]), ValueError, "numbers or booleans"),
        ([[1, 2], [3]], ValueError, "differ in length"),
        ([np.ones((2, 2)), np.ones((2, 2))], ValueError, r"from_parts\(X\)"),
        (np.ma.masked_array(np.ones((2, 2)), mask=[[0, 0], [0, 1]]), ValueError, "fill them first"),
        ("file.csv", TypeError, "type str is not rows"),
        ({"a": [1]}, TypeError, "type dict is not rows"),
        (None, TypeError, "not rows"),
        (3, TypeError, "type int is not rows"),
        (lambda: iter([]), ValueError, "gave no block"),
    ],
)
def test_what_is_not_rows_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        as_row_source(X)


def test_objects_that_are_not_numbers_are_named():
    X = np.array([[1, 2], [3, {"a": 1}]], dtype=object)
    with pytest.raises(TypeError, match=r"column 1 holds \{'a': 1\}.*argument must be a string or a real number"):
        collected(as_row_source(X), 2)


def test_sparse_matrices_with_hostile_indices_are_refused():
    def csr(indices, indptr):
        matrix = sp.csr_array(np.eye(3))
        matrix.indices[:] = indices
        matrix.indptr[:] = indptr
        return matrix

    for matrix, message in (
        (csr([0, 1, 10**6], [0, 1, 2, 3]), "entry in column 1000000, but 3 columns"),
        (csr([0, -5, 2], [0, 1, 2, 3]), "entry in column -5"),
        (csr([0, 1, 2], [0, 2, 1, 3]), "out of order"),
        (csr([0, 1, 2], [0, 1, 2, 10**6]), "index pointer"),
    ):
        with pytest.raises(ValueError, match=message):
            collected(as_row_source(matrix), 3)
    with pytest.raises(ValueError, match="beyond its entries"):
        as_row_source(csr([0, 1, 2], [0, 1, 1000, 3])).take([1])
    columns = sp.csc_array(np.eye(3))
    columns.indices[2] = 10**6
    with pytest.raises(ValueError, match="indices must be < 3"):
        as_row_source(columns)


def test_entries_given_twice_are_added_as_floats_without_touching_the_matrix():
    matrix = sp.csr_array((np.array([200, 100], dtype=np.uint8), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    source = as_row_source(matrix)
    for options in ({}, {"sparse": "keep"}):
        np.testing.assert_array_equal(collected(source, 1, **options), [[300, 0]])
    assert matrix.nnz == 2


def test_rows_and_arguments_out_of_range():
    source = as_row_source(np.ones((4, 2)))
    for rows in ([4], [-1]):
        with pytest.raises(IndexError, match=rf"row {rows[0]} does not exist: the source has 4 rows"):
            source.take(rows)
        with pytest.raises(IndexError, match=rf"row {rows[0]} does not exist"):
            as_row_source(lambda: iter([np.ones((4, 2))])).take(rows)
    with pytest.raises(ValueError, match="1-D array of integers"):
        source.take([0.5])
    with pytest.raises(ValueError, match="block_rows=0"):
        source.blocks(0)
    with pytest.raises(ValueError, match="dtype=int32"):
        source.blocks(1, "int32")
    with pytest.raises(ValueError, match="sparse='yes'"):
        source.blocks(1, sparse="yes")
    with pytest.raises(ValueError, match="n=-1"):
        source.sample(-1)
    with pytest.raises(ValueError, match="feature_names has 1 names for 2 columns"):
        as_row_source(np.ones((4, 2)), feature_names=["a"])


def test_no_rows():
    for X in (np.ones((0, 3)), sp.csr_array((0, 3)), pd.DataFrame({"a": [], "b": [], "c": []}, dtype=float)):
        source = as_row_source(X)
        assert source.n_rows == 0
        assert list(source.blocks(4)) == []
        assert source.sample(5).X.shape == (0, 3)
        assert source.take([]).shape == (0, 3)
    stream = as_row_source(lambda: iter([np.ones((0, 3)), np.ones((2, 3))]))
    assert collected(stream, 4).shape == (2, 3)
