"""Every law keeps the contract of `nanogram.testing.check_projection`, and breaking it is noticed."""

from __future__ import annotations

import numpy as np
import pytest

import nanogram.projections as laws
from nanogram.projections import make_projection
from nanogram.testing import check_projection

NAMES = (
    "gaussian",
    "cauchy",
    "student_t",
    "rademacher",
    "ternary",
    "circulant",
    "orthogonal",
    "hadamard",
    "qmc",
    "spherical",
    "directional",
)
LAWS = [
    *(make_projection(name) for name in NAMES),
    laws.StudentT(df=11),
    laws.Ternary(sparsity=0.0),
    laws.Ternary(sparsity=0.5),
    laws.Hadamard(rounds=1),
    laws.Hadamard(rounds=2),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_laws_keep_the_contract(law):
    check_projection(law, 5)


DRAWN = type(laws.Gaussian().draw(1, 1, 1))
BLOCK, PROJECT = DRAWN._block, DRAWN._project


def block(change):
    def lie(self, rows, columns, dtype):
        return change(BLOCK(self, rows, columns, np.dtype(np.float64)), rows).astype(dtype)

    return lie


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("_block", block(lambda W, rows: W + 0.1)),
        ("_block", block(lambda W, rows: W * 1.1)),
        ("_block", block(lambda W, rows: W * (np.asarray(rows)[:, None] > 0))),
        ("_block", block(lambda W, rows: W + len(rows) * 1e-9)),
        ("_project", lambda self, X, features, out: out.fill(0)),
        ("_project", lambda self, X, features, out: PROJECT(self, np.abs(X), features, out)),
        ("nbytes", property(lambda self: 0)),
        ("cost", lambda self, n=1: 1.0),
        ("entry_variance", property(lambda self: 2.0)),
        ("int8_scale", property(lambda self: 1.0)),
        ("__getstate__", lambda self: {**self.__dict__, "law": None, "ballast": bytes(10_000)}),
    ],
)
def test_a_law_that_lies_is_found_out(name, lie, monkeypatch):
    monkeypatch.setattr(DRAWN, name, lie, raising=False)
    with pytest.raises((AssertionError, NotImplementedError)):
        check_projection("gaussian")


@pytest.mark.filterwarnings("ignore::nanogram.projections.SparsityWarning")
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_rows_do_not_depend_on_the_number_of_features(law):
    few, many = (law.draw(20, m, 7).materialize(dtype=np.float64) for m in (33, 100))
    if law.name == "spherical":
        assert (few != many[:33]).any(), "the docstring says that rows depend on n_components"
    elif law.name == "orthogonal":
        np.testing.assert_allclose(few, many[:33], rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(few, many[:33])


def test_names_lead_to_laws_and_laws_pass_through():
    for name in NAMES:
        assert make_projection(name).name == name
    law = laws.Ternary(sparsity=0.25)
    assert make_projection(law) is law
    with pytest.raises(ValueError, match=r"projection='gauss' is not known; a law or one of gaussian, .*directional"):
        make_projection("gauss")
    with pytest.raises(ValueError, match="projection=3 is not known"):
        make_projection(3)
