# Needs nothing but make and a Python >= 3.11. Uses uv where it is on PATH, plain venv and pip otherwise.
#   make demo | test | lint | bench | docs | venv | format | clean
#   make test ARGS="-m 'not slow' -k mixture" JOBS=4        make venv PYTHON=python3.12

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
ARGS ?=

export MPLBACKEND ?= Agg

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo test lint format bench docs clean

help:
	@sed -n '2,3s/^# *//p' Makefile

venv: $(VENV)/.installed-dev

demo: $(VENV)/.installed-core
	$(BIN)/python examples/demo.py $(ARGS)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-core
	$(BIN)/python -m benchmarks.overhead --out results/bench.json $(ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m mkdocs build --strict $(ARGS)

clean:
	rm -rf $(VENV) site .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first of these that runs and is new enough. A name on PATH may be a shim for a Python that is not there.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
UV = $(shell command -v uv 2>/dev/null)

$(BIN)/python:
	@if [ -n "$(UV)" ]; then \
		"$(UV)" venv --quiet --allow-existing --python "$(or $(PYTHON),>=3.11)" $(VENV); \
	elif [ -z "$(PYTHON)" ]; then \
		echo "opvi needs a Python >= 3.11 on PATH and found none (or: make PYTHON=/path/to/python, or install uv)" >&2; exit 1; \
	elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "$(PYTHON) is not a Python >= 3.11" >&2; exit 1; \
	elif ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$(PYTHON) has no venv module (on Debian and Ubuntu: the package python3-venv)" >&2; exit 1; \
	else \
		echo "creating $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); \
	fi

# One stamp an extra, older than pyproject.toml when its requirements may have changed.
extras = $(if $(filter core,$*),.,.[$*])
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "installing $(extras) into $(VENV)"
	@if [ -n "$(UV)" ]; then \
		"$(UV)" pip install --quiet --python $(BIN)/python -e "$(extras)"; \
	else \
		$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e "$(extras)"; \
	fi
	@touch $@
