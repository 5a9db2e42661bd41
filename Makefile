# Everything runs from one virtual environment in .venv, made here.
#   make demo   install, then learn and reason on the embedded UMLS graph
#   make test   install with test tools, then ruff, mypy and pytest
#   make torture  install with test tools, then kills, damage, hostile input and broken disks for MINUTES
#   make bench  install, then the grounding benchmark (about 5 minutes)
PYTHON ?= python3
BIN := .venv/bin
# The authors' splits lie beside the repository where we develop; elsewhere set DATA or RNNLOGIC_DATA.
DATA ?= $(if $(RNNLOGIC_DATA),$(RNNLOGIC_DATA),../shared/data)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

MINUTES ?= 30

.PHONY: install demo test lint bench torture clean

install: .venv/installed
demo: .venv/installed
	@$(BIN)/rnnlogic demo

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

bench: .venv/installed-dev
	$(BIN)/python benchmarks/grounding.py --data $(DATA)

torture: .venv/installed-dev
	$(BIN)/python -m tests.torture --minutes $(MINUTES) --json build/torture.json
	$(BIN)/python -m tests.torture.page build/torture.json docs/reliability.md

$(BIN)/python:
	$(PYTHON) -m venv .venv

# torch goes first and alone: pinned by constraints.txt, it is the CPU build and later ranges are satisfied by it.
.venv/installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP_INSTALL) torch
	$(PIP_INSTALL) -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP_INSTALL) -e '.[dev,rdf,plots]'
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
