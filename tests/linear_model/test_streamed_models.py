"""Models on codes that are never stored, and what training holds beyond the codes: measured in fresh processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from nanogram import CodeMatrix, FourierFeatures
from nanogram.linear_model import CodeRidge, CodeRidgeClassifier, CodeRidgeCV
from nanogram.streamed import StreamedCodes, encode

RNG = np.random.default_rng(2)
X = RNG.uniform(-1, 1, (700, 4))
Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]])
FEATURES = FourierFeatures(96, bits=2, projection="gaussian", random_state=0).fit(X)
STORED = FEATURES.transform(X)


@pytest.fixture
def streamed():
    return StreamedCodes(FEATURES, X, block_bytes=96 * 2 * 160 // 8)  # five blocks


@pytest.mark.parametrize("weights", [None, RNG.uniform(0, 2, 700)], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "model",
    [
        CodeRidge(0.1),
        CodeRidge(0.1, solver="cg", tol=1e-9),
        CodeRidge(0.1, dual=True),
        CodeRidgeCV(),
        CodeRidgeCV(cv="loo"),
        CodeRidgeCV(cv=3),
        CodeRidgeCV(solver="cg", tol=1e-9),
    ],
    ids=str,
)
def test_equals_stored(model, weights, streamed):
    ours = model.fit(streamed, Y, weights)
    coef, intercept, predicted = ours.coef_, ours.intercept_, ours.predict(streamed)
    kept = getattr(ours, "alpha_", None)
    theirs = model.fit(STORED, Y, weights)
    if kept is not None:  # the grid is in units of the rows' norms, summed block by block
        assert kept == pytest.approx(theirs.alpha_, rel=1e-12)
    np.testing.assert_allclose(coef, theirs.coef_, atol=2e-6 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(intercept, theirs.intercept_, atol=1e-6)
    np.testing.assert_allclose(predicted, theirs.predict(STORED), atol=1e-5)


def test_spread_and_classes(streamed):
    _, expected = CodeRidge(0.1).fit(STORED, Y).predict(STORED[:9], return_std=True)
    _, found = CodeRidge(0.1).fit(streamed, Y).predict(streamed[:9], return_std=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    labels = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
    ours, theirs = CodeRidgeClassifier().fit(streamed, labels), CodeRidgeClassifier().fit(STORED, labels)
    assert np.mean(ours.predict(streamed) == theirs.predict(STORED)) > 0.995


def test_iterations_encode_once_each(streamed, monkeypatch):
    passes = []
    real = StreamedCodes._passes

    def counting(self, nbytes):
        passes.append(self.shape)
        return real(self, nbytes)

    monkeypatch.setattr(StreamedCodes, "_passes", counting)
    model = CodeRidge(0.01, solver="cg", tol=1e-4).fit(streamed, Y)
    # Means, the right-hand side, one for the sketch, one an iteration; two for each exact residual.
    assert len(passes) <= 3 + int(model.n_iter_.max()) + 2 * 4


def test_streams_that_are_read_in_order():
    source = StreamedCodes(FEATURES, lambda: (X[i : i + 100] for i in range(0, 700, 100)), block_bytes=4000)
    ours = CodeRidge(0.1, solver="cg", tol=1e-9).fit(source, Y)
    np.testing.assert_allclose(ours.coef_, CodeRidge(0.1).fit(STORED, Y).coef_, atol=1e-5)


# A process that fits something small first, so that libraries and their buffers are there, and then tells by how many
# bytes its peak grew during one fit.
PROGRAM = """
import json, resource, sys
import numpy as np
from nanogram import FourierFeatures
from nanogram.linear_model import CodeRidge, CodeRidgeCV, CodeRidgeClassifier
from nanogram.streamed import encode
n, m, bits, storage, model = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (n, 8)).astype(np.float32)
y = np.sin(3 * X[:, 0]) + X[:, 1]
def run(rows, m):
    features = FourierFeatures(m, bits=bits, projection="hadamard", random_state=0).fit(X[:1000])
    Z = encode(features, X[:rows], storage, max_memory="16MB" if storage == "streamed" else "4GB")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fitted = eval(model).fit(Z, y[:rows])
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return grown, fitted.solver_, features.transform(X[:16]).nbytes * rows // 16
run(4000, 512)
print(json.dumps(run(n, m)))
"""


def growth(n, m, bits, storage, model):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([n, m, bits, storage, model])],
        capture_output=True,
        text=True,
        check=True,
        timeout=1200,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "0"},
    )
    return json.loads(run.stdout.splitlines()[-1])


def test_memory_of_streamed_training_is_model_and_block():
    grown, solver, codes = growth(50_000, 4096, 4, "streamed", "CodeRidge(1.0, solver='cg', tol=1e-2)")
    assert solver == "cg"
    assert codes > 100e6
    # Sketch and vectors of the model, 64 columns of 4096 in a few copies, and a block of 4 MB of codes.
    assert grown < 40e6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "matrices"),
    [
        ("CodeRidge(1.0, solver='cholesky', dual=False)", 1.0),
        ("CodeRidge(1.0, max_memory='70MB')", 0.5),
        ("CodeRidgeCV()", 1.0),
        ("CodeRidge(1.0, solver='eigen')", 3.0),
    ],
)
def test_gram_solvers_hold_one_matrix_more(model, matrices):
    m = 4000
    grown, _, codes = growth(20_000, m, 2, "stored", model)
    assert codes == pytest.approx(20_000 * m / 4, rel=0.02)
    assert grown < matrices * 8 * m * m * 1.05 + 60e6  # workspace: blocks of rows, panels


@pytest.mark.slow
@pytest.mark.parametrize("model", ["CodeRidge(1.0, solver='cg')", "CodeRidgeCV(solver='cg')"])
def test_iterations_hold_200_megabytes_at_most(model):
    grown, _, codes = growth(100_000, 20_000, 2, "stored", model)
    assert codes > 490e6
    assert grown < 200e6


def test_encode_is_taken_by_every_budget():
    small, large = (encode(FEATURES, X, max_memory=budget) for budget in ("1MB", "1GB"))
    assert (type(small), type(large)) == (StreamedCodes, CodeMatrix)
    assert CodeRidge(0.1).fit(small, Y).score(large, Y) == pytest.approx(CodeRidge(0.1).fit(large, Y).score(small, Y))
