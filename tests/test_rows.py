"""RowSource: the same rows from every kind of container, in bounded memory, with errors that say where."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nanogram.rows import RandomAccessSource, as_row_source, block_rows_for, from_parts

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
