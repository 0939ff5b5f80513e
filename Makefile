# Every target makes its own virtual environment (.venv) when there is none. Needed beforehand: CPython 3.11 or
# later with pip, and a C++20 compiler; cmake, ninja and the rest come from the package index.
#
#   make test                      make test PYTHON=python3.13      another interpreter (the environment is remade)
#   make test ARGS="-k gram"       more arguments for pytest
#
# Files named .stamp-* in .venv record what has been done, so that a second call only does what has changed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first interpreter that runs and is new enough, unless one is named.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
  "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
# Errors only: a failing build still prints all it said.
PIP := @$(PY) -m pip -qq --require-virtualenv
# Tools come from .venv (cmake, ninja) whatever else is on the machine; no environment from outside leaks in.
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The compiler: $CXX if set, else what CMake would take.
CXX_FOUND := $(shell for c in $(if $(filter environment command line,$(origin CXX)),"$(CXX)") c++ g++ clang++; do \
  command -v "$${c%% *}" >/dev/null 2>&1 && { echo "$$c"; break; }; done)

CORE_SOURCES := CMakeLists.txt $(shell find core bindings -name '*.cpp' -o -name '*.hpp' -o -name '*.inl')
CORE_DIRS := $(shell find core bindings -type d)
CLANG_SOURCES := $(filter-out CMakeLists.txt,$(CORE_SOURCES))

PYTEST := $(PY) -m pytest
# What the NumPy reference alone must pass (NANOGRAM_ISA=reference): a short second run.
REFERENCE_TESTS := tests/test_package.py tests/codes tests/test_code_matrix.py
# Seconds are not counted in an instrumented build, so Ctrl-C has its test elsewhere.
SANITIZED_TESTS := tests/ops --ignore=tests/ops/test_long_calls.py tests/projections/test_counter.py tests/test_code_matrix_files.py

.PHONY: help build demo test test-slow bench sanitize lint format docs clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

build: $(VENV)/.stamp-core  ## .venv with the package (editable) and the compiled core; run again after C++ changes

demo: $(VENV)/.stamp-core  ## two minutes of what works today, on real data
	$(PY) -m nanogram.demo $(ARGS)

test: $(VENV)/.stamp-core  ## quick tests and the examples in docstrings
	NANOGRAM_ISA=reference $(PYTEST) -q -m "not slow" $(REFERENCE_TESTS)
	$(PYTEST) -m "not slow" --doctest-modules src/nanogram tests $(ARGS)

test-slow: $(VENV)/.stamp-core  ## the long statistical tests and those on real data sets
	$(PYTEST) -m slow --timeout=3600 $(ARGS)

bench: $(VENV)/.stamp-core  ## benchmarks; results go to benchmarks/results
	$(PY) benchmarks/products.py $(ARGS)

lint: $(VENV)/.stamp-core  ## ruff, mypy --strict, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CLANG_SOURCES)

format: $(VENV)/.stamp-core  ## rewrite the sources as lint wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CLANG_SOURCES)

docs: $(VENV)/.stamp-docs  ## HTML documentation in docs/_build/html
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:  ## remove everything made here, .venv included
	rm -rf $(VENV) build dist docs/_build docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

# ---------------------------------------------------------------- sanitizers

# The core is built a second time in its own folder and put beside a copy of the Python sources. The interpreter
# underneath .venv runs it: .venv's own start-up would put the editable install, and with it the plain core, first.
# The runtimes are preloaded because Python itself is not instrumented; libstdc++ with them, or ASan cannot see throws.
SAN := build/sanitize

sanitize: $(VENV)/.stamp-core  ## op tests under AddressSanitizer and UndefinedBehaviorSanitizer (g++)
	cmake -S . -B $(SAN) -G Ninja -DNANOGRAM_SANITIZE=ON -DPython_EXECUTABLE=$(CURDIR)/$(PY) --log-level=WARNING
	cmake --build $(SAN)
	@rm -rf $(SAN)/package; mkdir -p $(SAN)/package
	@cp -R src/nanogram $(SAN)/package/nanogram; rm -f $(SAN)/package/nanogram/_core*.so
	@cmake --install $(SAN) --prefix $(SAN)/package >/dev/null
	@preload=""; for library in libasan.so libubsan.so libstdc++.so; do \
	  found=$$($(CXX_FOUND) -print-file-name=$$library); \
	  [ -e "$$found" ] || { echo "make sanitize needs $$library, which $(CXX_FOUND) does not have (g++ brings it)" >&2; exit 1; }; \
	  preload="$$preload $$(realpath "$$found")"; done; \
	python=$$($(PY) -c 'import sys; print(sys._base_executable)'); \
	packages=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	echo "testing under the sanitizers"; \
	LD_PRELOAD="$$preload" PYTHONPATH="$(CURDIR)/$(SAN)/package:$$packages" PYTHONMALLOC=malloc \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 HYPOTHESIS_PROFILE=ci NANOGRAM_SANITIZED=1 \
	  "$$python" -m pytest --capture=sys -m "not slow" --timeout=1800 -p no:cacheprovider $(SANITIZED_TESTS) $(ARGS)

# ---------------------------------------------------------------- environment

# Remade when PYTHON names another version than the environment has.
ifneq ($(wildcard $(PY)),)
ifneq ($(filter command line environment,$(origin PYTHON)),)
VERSION := import sys; print(*sys.version_info[:2])
ASKED := $(shell "$(PYTHON)" -c '$(VERSION)' 2>/dev/null)
ifneq ($(filter-out $(shell $(PY) -c '$(VERSION)' 2>/dev/null),$(or $(ASKED),$(shell $(PY) -c '$(VERSION)'))),)
$(shell rm -rf $(VENV))
endif
endif
endif

$(VENV)/.stamp-venv:
	@if [ -z "$(PYTHON)" ]; then echo "nanogram needs CPython 3.11 or later and found none; name one: make PYTHON=/path/to/python3" >&2; exit 1; fi
	@"$(PYTHON)" -c '' 2>/dev/null || { echo "PYTHON=$(PYTHON) does not run; name an interpreter that does" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("nanogram needs CPython 3.11 or later; $(PYTHON) is %d.%d" % v[:2])'
	@rm -rf $(VENV)
# Debian splits ensurepip off: without it, the interpreter's own pip fills the environment.
	@"$(PYTHON)" -m venv $(VENV) >/dev/null 2>&1 || { rm -rf $(VENV); "$(PYTHON)" -m venv --without-pip $(VENV) && "$(PYTHON)" -m pip --python $(PY) install -q pip; }
	@touch $@

# The tools of the extra [dev] go in first: what builds the core must stay, for rebuilds in the same build folder.
$(VENV)/.stamp-tools: $(VENV)/.stamp-venv pyproject.toml
	@echo "installing the tools into $(VENV)"
	$(PIP) install $$($(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"])')
	@touch $@

$(VENV)/.stamp-core: $(VENV)/.stamp-tools $(CORE_SOURCES) $(CORE_DIRS)
	@if [ -z "$(CXX_FOUND)" ]; then echo "nanogram needs a C++20 compiler and found none: install g++ or clang++ (Debian: apt install g++; macOS: xcode-select --install), or set CXX" >&2; exit 1; fi
	@echo "building the core"
	$(PIP) install --no-build-isolation -e ".[dev]"
	@touch $@

$(VENV)/.stamp-docs: $(VENV)/.stamp-core pyproject.toml
	$(PIP) install --no-build-isolation -e ".[docs]"
	@touch $@
