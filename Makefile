# Needs only make and Python 3.11 or newer with its venv module; everything else goes into .venv.
# Another interpreter: make setup PYTHON=/path/to/python

PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.stamp
RUN := $(VENV)/bin/python

# The lowest versions of all dependencies, for `make test-floor`.
FLOOR := build/floor
# The quick tests that meet each dependency; learners and estimators take too long to be here.
FLOOR_TESTS := tests/tables tests/kernels tests/gram tests/criteria tests/persistence \
  tests/rows tests/plots tests/cli

# Two test workers on two cores: one BLAS thread each.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help setup test test-slow fuzz test-floor demo bench paper docs lint format build clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## create .venv and install kernalign with its tools

# An existing .venv is kept. pip is what is looked for, because a venv that failed half-way has a python and no pip.
$(STAMP): pyproject.toml
	@if [ ! -x $(VENV)/bin/pip ]; then \
	  "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || { \
	    found=$$("$(PYTHON)" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) \
	      && found="is Python $$found" || found="does not run"; \
	    echo "kernalign needs Python 3.11 or newer, but '$(PYTHON)' $$found: choose another with 'make setup PYTHON=/path/to/python'." >&2; \
	    exit 1; }; \
	  echo "Creating $(VENV)"; \
	  "$(PYTHON)" -m venv $(VENV); \
	fi
	@echo "Installing kernalign and its tools into $(VENV) (once per change of pyproject.toml)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check -e '.[dev,plot]'
	@touch $@

test: lint ## lint, then every test but the slow ones
	$(ONE_THREAD) $(RUN) -m pytest -n 2

test-slow: $(STAMP) ## the full-size runs
	$(RUN) -m pytest -m slow

MINUTES ?= 10
SEED ?= 0
fuzz: $(STAMP) ## attack files, fits, calls and commands for MINUTES=10 from SEED=0
	$(ONE_THREAD) $(RUN) -m tests.fuzz $(MINUTES) --seed $(SEED)

# Made anew each time: pip keeps what is newer than the floor. DeprecationWarnings come from packages
# without a floor, such as a new pyparsing below an old matplotlib.
test-floor: ## quick tests with the lowest versions that pyproject.toml allows
	rm -rf $(FLOOR)
	"$(PYTHON)" -m venv $(FLOOR)
	$(FLOOR)/bin/python tools/floor.py > $(FLOOR)/constraints.txt
	$(FLOOR)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(FLOOR)/constraints.txt -e '.[test]'
	$(ONE_THREAD) $(FLOOR)/bin/python -m pytest -q -n 2 -W ignore::DeprecationWarning $(FLOOR_TESTS)

demo: $(STAMP) ## run examples/demo.py
	$(RUN) examples/demo.py

bench: $(STAMP) ## run the benchmarks
	$(RUN) -m benchmarks

paper: $(STAMP) ## run every experiment of the paper and write the report
	$(ONE_THREAD) $(RUN) -m experiments run all --repeats 10 --jobs 2
	$(RUN) -m experiments report
	$(RUN) -m experiments pictures

docs: $(STAMP) ## build the documentation into build/docs, running its examples
	$(ONE_THREAD) $(RUN) -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Open build/docs/index.html"

lint: $(STAMP) ## check style, formatting and types
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

format: $(STAMP) ## fix what ruff can fix, then format
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

build: $(STAMP) ## build the wheel into dist/
	$(RUN) -m build --wheel

clean: ## remove build products and caches (keeps .venv and out/)
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/gallery docs/generated docs/sg_execution_times.rst
	find . -path ./$(VENV) -prune -o -path ./.git -prune -o \
	  -type d \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
