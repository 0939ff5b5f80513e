"""RowSource over streams of blocks and over parts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from nanogram.rows import as_row_source, from_parts


def collected(source, block_rows, **options):
    blocks = [block for _, block in source.blocks(block_rows, **options)]
    return np.concatenate([block.toarray() if sp.issparse(block) else block for block in blocks])


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
