"""The shipped contract test passes on every implementation here, and fails on a wrong one."""

from __future__ import annotations

import pytest

from nanogram import ops
from nanogram.ops import _dispatch, reference
from nanogram.testing import check_ops


@pytest.mark.parametrize("isa", ops.available_isas())
def test_every_implementation(isa):
    check_ops(isa)


@pytest.mark.parametrize("name", ["pack", "unpack", "row_sums", "decode", "matmul", "rmatmul", "gram", "kernel"])
def test_a_wrong_routine_is_named(name, monkeypatch):
    class Wrong:
        def __getattr__(self, routine):
            right = getattr(reference, routine)
            if routine != name:
                return right
            return lambda *args, **kwargs: (right(*args, **kwargs) + 1).astype(right(*args, **kwargs).dtype)

    monkeypatch.setattr(_dispatch, "_backend", Wrong)
    with pytest.raises(AssertionError, match=name):
        check_ops("reference")


def test_unknown_implementation():
    with pytest.raises(ValueError, match="neon"):
        check_ops("neon")
