"""The package as a whole: what it exports, what it imports, and that it runs without the compiled core."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import nanogram
from nanogram import ops

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(nanogram.__file__).parent
CORE = importlib.util.find_spec("nanogram._core")


def run_python(code: str, **environment: str) -> str:
    """Output of a program in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def public_modules() -> list[str]:
    names = [info.name for info in pkgutil.walk_packages(nanogram.__path__, "nanogram.")]
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))


def test_version_is_stated_once() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert metadata["project"]["dynamic"] == ["version"]
    assert nanogram.__version__ == importlib.import_module("nanogram._version").__version__


def test_version_of_the_installed_package() -> None:
    try:
        installed = importlib.metadata.version("nanogram")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nanogram is on the path, not installed")
    assert installed == nanogram.__version__


@pytest.mark.parametrize("name", ["nanogram", *public_modules()])
def test_all_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    for public in names:
        assert hasattr(module, public), f"{name}.__all__ names {public}, which is not there"


def test_typed_marker_and_stubs_are_packaged() -> None:
    assert (PACKAGE / "py.typed").is_file()
    assert (PACKAGE / "_core.pyi").is_file()


@pytest.mark.skipif(CORE is None, reason="no compiled core here")
def test_stubs_name_what_the_core_has() -> None:
    tree = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
    declared = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    core = importlib.import_module("nanogram._core")
    actual = {name for name in dir(core) if not name.startswith("_") and callable(getattr(core, name))}
    assert declared == actual


@pytest.mark.skipif(CORE is None, reason="there is no compiled core")
@pytest.mark.parametrize("chosen", [None, "77"])
def test_threads_wait_shortly_unless_the_user_has_chosen(chosen):
    """libgomp says what it has read when it is loaded; the environment is left as it was."""
    code = """
        import os, subprocess, sys
        child = "import os, nanogram; print('after', os.environ.get('GOMP_SPINCOUNT'))"
        environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
        if CHOSEN is not None:
            environment["GOMP_SPINCOUNT"] = CHOSEN
        environment["OMP_DISPLAY_ENV"] = "verbose"
        done = subprocess.run([sys.executable, "-c", child], env=environment, capture_output=True, text=True)
        print(done.stdout, done.stderr)
    """
    said = run_python(code.replace("CHOSEN", repr(chosen)))
    assert f"after {chosen}" in said
    counts = {line.split("=")[1].strip(" '") for line in said.splitlines() if "GOMP_SPINCOUNT" in line}
    if not counts:
        pytest.skip("the core's OpenMP is not libgomp")
    # scikit-learn's own libgomp tells of itself too.
    assert (chosen or "200") in counts


def test_import_is_light() -> None:
    loaded = run_python(
        """
        import sys
        import sklearn.base             # brings pandas and pyarrow by itself where they are installed
        before = set(sys.modules)
        import nanogram
        optional = {"torch", "dask", "distributed", "typer", "rich", "pyarrow", "matplotlib", "pandas", "polars"}
        print(*sorted(optional & (set(sys.modules) - before)))
        """
    )
    assert loaded.split() == []


def test_works_without_the_compiled_core() -> None:
    output = run_python(
        """
        import sys
        sys.modules["nanogram._core"] = None     # an import of it fails
        import numpy as np
        from nanogram import CodeMatrix, ops
        from nanogram.codes import StepCode
        assert ops.available_isas() == ("reference",), ops.available_isas()
        values = np.random.default_rng(0).standard_normal((37, 23))
        Z = CodeMatrix.from_values(values, StepCode(levels=[-1.0, 0.0, 1.0], thresholds=[-0.5, 0.5]))
        dense = Z.toarray().astype(float)
        np.testing.assert_allclose(Z @ np.arange(23.0), dense @ np.arange(23.0), rtol=0, atol=1e-2)
        np.testing.assert_allclose(Z.gram(), dense.T @ dense)
        print("done")
        """,
        NANOGRAM_ISA="",
    )
    assert output.strip() == "done"


@pytest.mark.parametrize("isa", ops.available_isas())
def test_environment_forces_an_instruction_set(isa: str) -> None:
    assert run_python("from nanogram import ops; print(ops.isa_name())", NANOGRAM_ISA=isa).strip() == isa


def test_environment_refuses_an_unknown_instruction_set() -> None:
    with pytest.raises(AssertionError, match="NANOGRAM_ISA='mmx' is unknown"):
        run_python("import nanogram.ops", NANOGRAM_ISA="mmx")
