# `make` lists the targets. Every one of them first makes the environment that uv.lock describes, in .venv, once.

PYTHON ?= python3
STUDIES ?= frontier-cells frontier-ratings
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.synced
LEAST := 3.13
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < tuple(map(int, "$(LEAST)".split("."))))

export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_PYTHON_DOWNLOADS := never

.DEFAULT_GOAL := help
.PHONY: help environment fit test test-slow lint format benchmark
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

environment: $(STAMP) ## install the locked environment into .venv

$(STAMP): pyproject.toml uv.lock .python-version
	@$(BIN)/python -c '$(IS_NEW_ENOUGH)' 2>/dev/null || { \
	    $(PYTHON) -c '$(IS_NEW_ENOUGH)' || { \
	        echo "error: drift needs Python $(LEAST) or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
	        echo "       Install one, or name it: make PYTHON=/path/to/python$(LEAST) $(MAKECMDGOALS)" >&2; exit 1; }; \
	    $(PYTHON) -m venv --clear $(VENV); }
	$(BIN)/python -m pip install --quiet 'uv>=0.9'
	$(BIN)/uv sync --locked --inexact --quiet --python $(BIN)/python
	@touch $@

fit: $(STAMP) ## fit the bundled studies, print their conclusions, keep posteriors/
	@worst=0; for study in $(STUDIES); do $(BIN)/python -m drift.fit $$study || worst=$$?; done; exit $$worst

test: $(STAMP) ## run the tests, a minute or two
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-slow: $(STAMP) ## run every test, the slow ones too
	$(BIN)/python -m pytest -m "slow or not slow" --timeout 3600 $(PYTEST_ARGS)

lint: $(STAMP) ## ruff (rules and format) and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(STAMP) ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

benchmark: $(STAMP) ## measure speed and memory, write docs/benchmark.md
	$(BIN)/python scripts/benchmark.py
