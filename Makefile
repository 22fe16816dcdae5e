# Two commands do everything on a fresh machine with Python 3.11+: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
E2E := tests/e2e
NPM_STAMP := $(E2E)/node_modules/.ready
DOCS_STAMP := $(VENV)/.ready-docs
MCP1_STAMP := build/mcp1/.ready
# The last SDK before 2.0, which many servers need, and what runs the tests of such a server.
MCP1 := mcp==1.30.0 pytest pytest-xdist
# What the tests of `make lowest` need beside mcptest, in their newest versions that fit.
LOWEST_TOOLS := hypothesis hypothesis-jsonschema junitparser lxml more-itertools pytest pytest-rerunfailures pytest-timeout \
	pytest-xdist tap.py
SECONDS ?= 60
SEED ?=
# Two more than there are cores: many tests wait for a server.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 2)")

# The fast tests: what starts no mcptest, terminal or browser. The language, the judging, the reports, what screens show; not
# the laws of sample values, which take long.
QUICK := core/test_*.py suite suite_edit judging safety/changes reporting workspace themes tui/state faults

.PHONY: help demo test check bench soak docs dist lowest npm mcp1 setup clean lint types layers quick unit compiled tested

demo: setup  ## run the example suite on the embedded mock server
	@$(BIN)/mcptest demo

test: setup  ## every check
	@$(MAKE) --no-print-directory --jobs 2 types tested

check: setup  ## before a commit: lint, types, layers and the fast tests (QUICK); meant to take a minute on two cores
	@$(MAKE) --no-print-directory --jobs 2 lint types layers quick

bench: setup  ## measure the figures, as ratios against a bare client in the same run
	@$(BIN)/python -m tests.bench.run

soak: setup  ## thousands of calls with faults at random: make soak [SECONDS=3600] [SEED=7]
	@$(BIN)/python -m tests.soak.run --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

docs: $(DOCS_STAMP)  ## build the documentation as a website in build/docs
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/docs-cache . build/docs
	@echo "built build/docs/index.html"

dist: setup  ## build the wheel and the sdist in dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build

lowest: setup  ## run the fast tests with the lowest version of each dependency
	@$(PYTHON) -m venv --clear build/lowest
	@build/lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	@build/lowest/bin/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct --editable '.[models,dask]'
	@build/lowest/bin/uv pip freeze --quiet --python build/lowest/bin/python --exclude-editable > build/lowest.txt
	@build/lowest/bin/uv pip install --quiet --python build/lowest/bin/python --constraint build/lowest.txt $(LOWEST_TOOLS)
	@build/lowest/bin/python -m pytest -q -n 2 --dist worksteal $(addprefix tests/,$(QUICK) core/synthesize running/test_over_http.py cli/test_run.py)

npm: $(NPM_STAMP)  ## install the public servers and the conformance suite that the tests run against, from npm

mcp1: $(MCP1_STAMP)  ## install mcptest beside the 1.x of the MCP SDK into build/mcp1, where the tests run servers that need it

help:  ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

layers: setup
	@$(BIN)/lint-imports --no-logo

quick: setup
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal $(addprefix tests/,$(QUICK))

unit: setup
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# The types take one core for minutes on a new checkout, so the tests begin beside them.
tested: setup
	@for one in lint layers compiled unit; do $(MAKE) --no-print-directory $$one || exit; done

# On a new checkout each of pytest's processes would compile every test for itself; this one does it for all.
compiled: setup
	@$(BIN)/python -m pytest -q --collect-only >/dev/null || true  # `unit` says what is wrong

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "mcptest needs Python 3.11 or newer, and $(PYTHON) is %s; try: make PYTHON=python3.12 $(MAKECMDGOALS)" % sys.version.split()[0])'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(STAMP)

$(DOCS_STAMP): $(STAMP)
	@echo "installing the documentation generator into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $(DOCS_STAMP)

$(MCP1_STAMP): $(STAMP)
	@echo "installing mcptest beside the MCP SDK 1.x into build/mcp1 (once)"
	@$(BIN)/python -m venv --clear --without-pip build/mcp1
	@grep -v '^mcp' constraints.txt > build/mcp1/constraints.txt
	@$(BIN)/python -m pip --python build/mcp1/bin/python install --quiet --no-compile --disable-pip-version-check --constraint build/mcp1/constraints.txt --editable . $(MCP1)
	@build/mcp1/bin/python -c 'import mcp.server.fastmcp, xdist.plugin'  # what is used is compiled once, and not by each server
	@touch $(MCP1_STAMP)

# No lock file, because one names the registry that it was written with; the versions are exact. No install scripts: none of these
# packages needs one. Without npm nothing is installed, and the tests that need it are skipped (and fail under CI).
$(NPM_STAMP): $(E2E)/package.json
	@command -v npm >/dev/null || { echo "npm is not installed; on Debian and Ubuntu: apt-get install nodejs npm" >&2; exit 1; }
	@echo "installing the public servers into $(E2E)/node_modules (once)"
	@cd $(E2E) && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $(NPM_STAMP)

clean:
	rm -rf $(VENV) $(E2E)/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
