"""RowSource: the same rows from every kind of container, in bounded memory, with errors that say where."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nanogram.rows import RandomAccessSource, RowSource, as_row_source, block_rows_for, from_parts

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", ">f4", ">i2"]

# Whole numbers of modest size, so that every cast is exact.
matrices = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=20),
        elements=st.booleans() if dtype == "bool" else st.integers(0, 100),
    )
)


def collected(source, block_rows, **options):
    """All blocks as one array; checks on the way what is promised of each."""
    pieces, expected_start = [], 0
    for start, block in source.blocks(block_rows, **options):
        assert start == expected_start
        assert len(pieces) == 0 or pieces[-1].shape[0] == block_rows
        assert 0 < block.shape[0] <= block_rows
        if sp.issparse(block):
            assert isinstance(block, sp.csr_array)
            assert block.has_canonical_format
        else:
            assert block.flags.c_contiguous
            assert not block.flags.writeable
        pieces.append(block.toarray() if sp.issparse(block) else block)
        expected_start += block.shape[0]
    return np.concatenate(pieces) if pieces else np.empty((0, source.n_columns))


# ---------------------------------------------------------------- equality with the whole array


@settings(max_examples=60, deadline=None)
@given(X=matrices, block_rows=st.integers(1, 25), step=st.sampled_from([1, -1, 2]), order=st.sampled_from("CF"))
def test_arrays_of_any_type_and_strides(X, block_rows, step, order):
    X = np.array(X, order=order)[::step, ::step]
    X.flags.writeable = False
    source = as_row_source(X)
    assert (source.n_rows, source.n_columns, source.dtype) == (*X.shape, X.dtype)
    whole = collected(source, block_rows)
    assert whole.dtype == (np.float64 if X.dtype.itemsize == 8 or X.dtype in (np.int32, np.uint32) else np.float32)
    np.testing.assert_array_equal(whole, X.astype(float))
    assert collected(source, block_rows, dtype="float64").dtype == np.float64


@settings(max_examples=40, deadline=None)
@given(
    X=matrices.filter(lambda X: X.dtype.isnative and X.dtype != np.float16),
    block_rows=st.integers(1, 25),
    form=st.sampled_from(["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]),
    container=st.sampled_from(["array", "matrix"]),
    data=st.data(),
)
def test_sparse_of_any_format(X, block_rows, form, container, data):
    X = X * (X % 3 == 0)
    made = getattr(sp, f"{form}_{container}")(X)
    source = as_row_source(made)
    assert source.is_sparse
    np.testing.assert_array_equal(collected(source, block_rows), X.astype(float))
    np.testing.assert_array_equal(collected(source, block_rows, sparse="keep"), X.astype(float))
    rows = data.draw(st.lists(st.integers(0, len(X) - 1), max_size=5))
    kept = source.take(np.array(rows, dtype=int), sparse="keep")
    np.testing.assert_array_equal(kept.toarray(), X[rows].astype(float))
    np.testing.assert_array_equal(source.take(np.array(rows, dtype=int)), X[rows].astype(float))


@settings(max_examples=60, deadline=None)
@given(
    X=matrices, block_rows=st.integers(1, 25), cuts=st.lists(st.integers(0, 20), max_size=4), seed=st.integers(0, 99)
)
def test_streams_and_parts_give_the_same_blocks_rows_and_samples(X, block_rows, cuts, seed):
    plain = as_row_source(X)
    pieces = np.split(X, sorted(min(cut, len(X)) for cut in cuts))
    stream, parts, single = (
        as_row_source(lambda: iter(pieces)),
        from_parts(pieces),
        as_row_source(iter(pieces), single_pass=True),
    )
    expected = list(plain.blocks(block_rows))
    for source in (stream, parts, single):
        for (start, block), (start_expected, block_expected) in zip(source.blocks(block_rows), expected, strict=True):
            assert start == start_expected
            assert block.dtype == block_expected.dtype
            np.testing.assert_array_equal(block, block_expected)
        assert source.n_rows == len(X)
    rows = np.random.default_rng(seed).integers(0, len(X), 7)
    drawn = plain.sample(4, seed)
    assert len(drawn.rows) == min(4, len(X))
    np.testing.assert_array_equal(drawn.X, X[drawn.rows])
    for source in (stream, parts, as_row_source(iter(pieces), single_pass=True)):
        again = source.sample(4, seed)
        np.testing.assert_array_equal(again.rows, drawn.rows)
        np.testing.assert_array_equal(again.X, drawn.X)
        if source.restartable:
            np.testing.assert_array_equal(source.take(rows), X[rows])


def test_lists_and_array_likes():
    class Offering:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2], [3, 4]])

    for X in ([[1, 2], [3, 4]], ([1, 2], [3, 4]), Offering(), np.array([[1, 2], [3, 4]], dtype=object)):
        np.testing.assert_array_equal(collected(as_row_source(X), 1), [[1, 2], [3, 4]])


def test_a_source_is_returned_as_it_is_and_names_do_not_leak_into_it():
    source = as_row_source(np.zeros((2, 2)))
    assert as_row_source(source) is source
    assert as_row_source(source, feature_names=["a", "b"]).feature_names == ("a", "b")
    assert source.feature_names is None


def test_blocks_of_a_float_array_are_views_and_leave_its_flag():
    X = np.ones((8, 3), dtype=np.float32)
    _, block = next(as_row_source(X).blocks(4))
    assert np.shares_memory(block, X)
    assert X.flags.writeable


def test_a_new_kind_is_one_small_subclass():
    class Squares(RandomAccessSource):
        n_rows, n_columns, dtype = 5, 1, np.dtype(np.int64)

        def _rows(self, which):
            return np.arange(5)[which, None] ** 2

    np.testing.assert_array_equal(collected(Squares(), 2).ravel(), [0, 1, 4, 9, 16])
    assert as_row_source(Squares()).take([3]).item() == 9


# ---------------------------------------------------------------- frames


def test_pandas_columns_of_every_numeric_type():
    frame = pd.DataFrame(
        {
            "plain": np.array([1, 2, 3], dtype=np.int8),
            "flag": [True, False, True],
            "half": np.array([0.5, 1.5, 2.5], dtype=np.float16),
            "nullable": pd.array([1, 2, 3], dtype="Int64"),
            "arrow": pd.array([1.0, 2.0, 3.0], dtype="double[pyarrow]"),
            "sparse": pd.arrays.SparseArray([0.0, 0.0, 7.0]),
        },
        index=[5, 5, 9],
    )
    source = as_row_source(frame)
    assert source.feature_names == tuple(frame.columns)
    expected = frame.astype(float).to_numpy()
    np.testing.assert_array_equal(collected(source, 2), expected)
    np.testing.assert_array_equal(source.take([2, 0]), expected[[2, 0]])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float64"])
def test_pandas_frames_of_one_type(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    source = as_row_source(pd.DataFrame(X))
    assert source.dtype == X.dtype
    assert source.feature_names is None  # labels are numbers
    np.testing.assert_array_equal(collected(source, 3), X.astype(float))


def test_polars_columns_of_every_numeric_type():
    frame = pl.DataFrame(
        {"flag": [True, False, True], "small": [1, 2, 3], "wide": [0.5, 1.5, 2.5], "money": ["1.25", "2.5", "3.75"]},
        schema_overrides={"small": pl.UInt8, "wide": pl.Float32},
    ).with_columns(pl.col("money").cast(pl.Decimal(10, 2)))
    source = as_row_source(frame)
    assert source.feature_names == tuple(frame.columns)
    expected = np.array([[1, 1, 0.5, 1.25], [0, 2, 1.5, 2.5], [1, 3, 2.5, 3.75]])
    np.testing.assert_array_equal(collected(source, 2), expected)
    np.testing.assert_array_equal(source.take([2, 0, 2]), expected[[2, 0, 2]])
    narrow = as_row_source(frame.select("small", "wide"))
    assert collected(narrow, 2).dtype == np.float32


def test_missing_values_of_frames_are_nan_with_the_name_of_the_column():
    for frame in (
        pd.DataFrame({"age": [1, 2, 3], "size": pd.array([1, None, 3], dtype="Int32")}),
        pl.DataFrame({"age": [1, 2, 3], "size": [1, None, 3]}),
        pl.DataFrame({"age": [1, 2, 3], "size": [True, None, True]}),
    ):
        source = as_row_source(frame)
        with pytest.raises(ValueError, match=r"NaN: column 1 \('size'\), row 1$"):
            collected(source, 2)
        assert np.isnan(collected(source, 2, check_finite=False)[1, 1])


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        (pd.DataFrame({"a": [1], "town": ["x"]}), "town"),
        (pd.DataFrame({"a": [1], "any": pd.Series([1], dtype=object)}), "any"),
        (pd.DataFrame({"a": [1], "when": pd.to_datetime(["2020-01-01"])}), "when"),
        (pd.DataFrame({"a": [1], "kind": pd.Categorical(["x"])}), "kind"),
        (pl.DataFrame({"a": [1], "town": ["x"]}), "town"),
        (pl.DataFrame({"a": [1], "list": [[1]]}), "list"),
    ],
)
def test_columns_that_are_not_numbers_are_refused_by_name(frame, column):
    with pytest.raises(TypeError, match=f"column '{column}' of the frame has dtype .* numeric or boolean"):
        as_row_source(frame)


def test_other_tables_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match="collect"):
        as_row_source(pl.LazyFrame({"a": [1]}))
    for column in (pd.Series([1, 2]), pl.Series([1, 2])):
        with pytest.raises(ValueError, match="to_frame"):
            as_row_source(column)


# ---------------------------------------------------------------- torch, without torch


def tensor_class(device, error=None):
    class Tensor:
        dtype = "torch.bfloat16"

        def detach(self):
            return self

        def numpy(self):
            if error:
                raise error
            return np.ones((2, 3), dtype=np.float32)

    Tensor.__module__ = "torch"
    Tensor.device = type("Device", (), {"type": device, "__str__": lambda self: device})()
    return Tensor()


def test_tensors():
    np.testing.assert_array_equal(collected(as_row_source(tensor_class("cpu")), 1), np.ones((2, 3)))
    with pytest.raises(TypeError, match=r"on cuda: .* X.cpu\(\)"):
        as_row_source(tensor_class("cuda"))
    with pytest.raises(TypeError, match=r"bfloat16.*X.float\(\)"):
        as_row_source(tensor_class("cpu", TypeError("unsupported")))


# ---------------------------------------------------------------- streams


def test_objects_that_can_be_iterated_again():
    class Batches:
        def __iter__(self):
            yield pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
            yield pl.DataFrame({"a": [5.0], "b": [6.0]})

    source = as_row_source(Batches())
    assert (source.n_rows, source.feature_names, source.restartable) == (None, ("a", "b"), True)
    for _ in range(2):
        np.testing.assert_array_equal(collected(source, 2), [[1, 3], [2, 4], [5, 6]])
    assert source.n_rows == 3


def test_one_shot_iterators_are_refused_or_good_for_one_pass():
    with pytest.raises(TypeError, match="only once: pass a function"):
        as_row_source(iter([np.zeros((2, 2))]))
    generator = (np.full((2, 2), i) for i in range(3))
    with pytest.raises(TypeError, match="same iterator twice"):
        as_row_source(lambda: generator)
    source = as_row_source((np.full((2, 2), i) for i in range(3)), single_pass=True)
    assert not source.restartable
    with pytest.raises(TypeError, match="single pass"):
        source.take([0])
    assert collected(source, 4).sum() == 12
    with pytest.raises(RuntimeError, match="single pass"):
        next(source.blocks(4))


def test_streams_of_sparse_blocks():
    X = sp.random_array((30, 7), density=0.2, rng=np.random.default_rng(0), format="csr")
    source = as_row_source(lambda: iter([X[:4], X[4:5], X[5:30]]))
    assert source.is_sparse
    np.testing.assert_array_equal(collected(source, 8, sparse="keep"), X.toarray())
    mixed = as_row_source(lambda: iter([X[:4], X[4:5].toarray(), X[5:30]]))
    np.testing.assert_array_equal(collected(mixed, 8, sparse="keep"), X.toarray())
    assert not from_parts([X, X.toarray()]).is_sparse
    kept = from_parts([X, X]).take([31, 0], sparse="keep")
    np.testing.assert_array_equal(kept.toarray(), X.toarray()[[1, 0]])
    drawn = as_row_source(lambda: iter([X])).sample(5, seed=2, sparse="keep")
    np.testing.assert_array_equal(drawn.X.toarray(), X.toarray()[drawn.rows])


def test_blocks_of_a_stream_have_to_be_alike():
    def stream(*blocks):
        return as_row_source(lambda: iter(blocks)).blocks(2)

    with pytest.raises(ValueError, match=r"block 2 of the stream has 4 columns, the first block has 3"):
        list(stream(np.ones((2, 3)), np.ones((1, 3)), np.ones((2, 4))))
    with pytest.raises(ValueError, match=r"block 1 of the stream has 'c' in column 1, the first block has 'b'"):
        list(stream(pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"a": [1], "c": [2]})))
    with pytest.raises(ValueError, match=r"rows from 2 on hold float64, the rows before them int8: name the dtype"):
        list(stream(np.ones((2, 3), dtype=np.int8), np.ones((2, 3))))
    with pytest.raises(ValueError, match="block 1 of the stream: Expected 2D array, got 1D"):
        list(stream(np.ones((2, 3)), np.ones(3)))
    named = as_row_source(lambda: iter([np.ones((2, 3), dtype=np.int8), np.ones((2, 3))]))
    assert collected(named, 2, dtype="float32").dtype == np.float32


def test_a_stream_that_changes_its_length_is_refused():
    lengths = iter([1, 1, 3, 2])
    source = as_row_source(lambda: iter([np.ones((1, 2))] * next(lengths)))
    assert len(collected(source, 2)) == 3
    with pytest.raises(ValueError, match="3 rows on the first pass and 2 on a later one"):
        collected(source, 2)


def test_a_pass_left_early_closes_its_generator():
    closed = []

    def batches():
        try:
            for _ in range(5):
                yield np.ones((2, 2))
        finally:
            closed.append(True)

    source = as_row_source(batches)
    n_looked = len(closed)
    blocks = source.blocks(2)
    next(blocks)
    blocks.close()
    del blocks
    assert len(closed) == n_looked + 1


def test_parts_of_mixed_kinds_learn_the_length_of_their_streams():
    parts = from_parts([np.ones((2, 2)), lambda: iter([np.ones((3, 2))]), sp.csr_array(np.ones((1, 2)))])
    assert parts.n_rows is None
    assert not parts.random_access
    assert collected(parts, 4).shape == (6, 2)
    assert parts.n_rows == 6
    np.testing.assert_array_equal(parts.take([5, 0]), np.ones((2, 2)))
    with pytest.raises(ValueError, match="part 1 has 3 columns, part 0 has 2"):
        from_parts([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="at least one part"):
        from_parts([])


# ---------------------------------------------------------------- bad values


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


# ---------------------------------------------------------------- memory


def test_a_memory_map_is_read_in_the_memory_of_a_block(tmp_path):
    path = tmp_path / "rows.f64"
    rows, columns, block_rows = 40_000, 64, 512
    X = np.memmap(path, dtype=np.float64, mode="w+", shape=(rows, columns))
    X[:] = 1
    X.flush()
    mapped = np.memmap(path, dtype=np.float64, mode="r", shape=(rows, columns))
    block_bytes = block_rows * columns * 4
    for source in (
        as_row_source(mapped),
        from_parts([mapped[: rows // 3], mapped[rows // 3 :]]),
        as_row_source(lambda: (mapped[i : i + 700] for i in range(0, rows, 700))),
    ):
        tracemalloc.start()
        total = sum(block.sum(dtype=np.float64) for _, block in source.blocks(block_rows, "float32"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert total == rows * columns
        # The block in hand, its successor while it is made, and in a refilled stream its pieces of float64.
        assert peak < 5 * block_bytes


def test_frames_and_sparse_matrices_are_converted_block_by_block():
    rows, columns, block_rows = 40_000, 20, 256
    frame = pd.DataFrame({f"x{j}": np.ones(rows, dtype=[np.int64, np.float32][j % 2]) for j in range(columns)})
    matrix = sp.random_array((rows, 2000), density=0.001, rng=np.random.default_rng(0), format="csr")
    for X, width in ((frame, columns), (matrix, 2000)):
        source = as_row_source(X)
        tracemalloc.start()
        for _ in source.blocks(block_rows):
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * block_rows * width * 8 + 2**20


# ---------------------------------------------------------------- samples and block sizes


def test_samples_are_uniform_and_depend_on_the_seed():
    X = np.arange(50.0)[:, None]
    source = as_row_source(X)
    counts = np.zeros(50)
    for seed in range(2000):
        counts[source.sample(10, seed).rows] += 1
    # Each row is drawn with probability 1/5: chi-square over 50 rows, variance n p (1 - p) with 49 degrees of
    # freedom; 49 + 5 sqrt(98) is five standard deviations above its mean.
    chi2 = ((counts - 400) ** 2 / (2000 * 0.2 * 0.8)).sum() * 49 / 50
    assert chi2 < 49 + 5 * np.sqrt(98)
    assert source.sample(100).rows.tolist() == list(range(50))
    assert not np.array_equal(source.sample(10, 0).rows, source.sample(10, 1).rows)


def test_a_large_sample_from_a_stream_equals_that_of_the_array():
    X = np.arange(20_000, dtype=np.int32)[:, None]
    drawn = as_row_source(X).sample(3000, seed=5)
    streamed = as_row_source(lambda: (X[i : i + 77] for i in range(0, len(X), 77))).sample(3000, seed=5)
    np.testing.assert_array_equal(drawn.rows, streamed.rows)
    np.testing.assert_array_equal(drawn.X, streamed.X)


def test_block_rows_for():
    assert block_rows_for(10, 16 * 40) == 16
    assert block_rows_for(10, 40 * 15) == 15
    assert block_rows_for(10, 1 << 20, itemsize=8) % 16 == 0
    with pytest.raises(ValueError, match="does not hold one row"):
        block_rows_for(10, 39)
    with pytest.raises(ValueError, match="at least 1"):
        block_rows_for(0, 100)
