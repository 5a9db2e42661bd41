# Everything runs from one virtual environment in .venv, made here.
#   make demo   install, then learn rules from facts about countries, and find a missing one
#   make test   install with test tools, then ruff, mypy and pytest
#   make check  the quick part of it: ruff, mypy, and the tests that need no fit, server or cluster
#   make bounds   install with test tools, then the tests of the kernels with every array index checked
#   make torture  install with test tools, then kills, damage, hostile input and broken disks for MINUTES
#   make pages    write what programs print, and metrics of finished runs, into README.md, docs/ and the notebooks
#   make docs     build the documentation into site/, every link checked
#   make package  build wheel and sdist, and try them in clean environments (about 10 minutes)
#   make bench  install, then the grounding benchmark (about 5 minutes)
PYTHON ?= python3
BIN := .venv/bin
# The authors' splits lie beside the repository where we develop; elsewhere set DATA or RNNLOGIC_DATA.
DATA ?= $(if $(RNNLOGIC_DATA),$(RNNLOGIC_DATA),../shared/data)
# Modules are compiled when they are first loaded: most of torch never is. Where byte code may not be kept, every
# process would compile them again.
export PYTHONDONTWRITEBYTECODE :=
PIP_INSTALL := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt

MINUTES ?= 30
# pip, mypy and the compiler of the kernels take one core each.
MAKEFLAGS += -j3

.PHONY: install demo test pytest check quick types browser pages docs package bench bounds torture clean

install: .venv/installed
demo: .venv/installed
	@$(BIN)/rnnlogic demo

# mypy and two processes of pytest share the cores, so that none is idle while a test waits for a server.
test: types pytest
pytest: .venv/installed-dev browser .venv/warm
	$(BIN)/python -m pytest -n 2 --dist worksteal

# What to run before every commit; `make test` is for CI and for changes that reach far.
QUICK := tests/base tests/data tests/rules tests/render tests/test_layout.py tests/test_config.py
check: types quick
quick: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --ignore tests/base/test_clusters.py --ignore tests/base/test_executor_pickling.py $(QUICK)

types: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tests of the explorer need a browser and skip without one; CI gets Debian's where it may.
browser:
	@if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && ! command -v chromium >/dev/null && command -v apt-get >/dev/null; then \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 || echo "no chromium: browser tests skip"; fi

bench: .venv/installed-dev
	$(BIN)/python benchmarks/grounding.py --data $(DATA)

# Compiled code does not check indices otherwise: what it writes beyond an array shows up elsewhere, if at all.
bounds: .venv/installed-dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/python -m pytest -n 2 tests/features tests/mining \
	  tests/predictors tests/embeddings tests/evaluation tests/fit/compact

torture: .venv/installed-dev
	$(BIN)/python -m tests.torture --minutes $(MINUTES) --json build/torture.json
	$(BIN)/python -m tests.torture.page build/torture.json docs/reliability.md

pages: .venv/installed-dev
	$(BIN)/python -m tests.refresh
	$(BIN)/python -m tests.notebooks
	$(BIN)/python -m experiments.metrics

docs: .venv/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

package: .venv/installed-dev
	$(BIN)/python tests/package_smoke.py

$(BIN)/python:
	$(PYTHON) -m venv .venv

# torch goes first: pinned by constraints.txt, it is the CPU build and later ranges are satisfied by it. With it comes
# what builds the package, else pip installs that anew for every build.
.venv/installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP_INSTALL) torch hatchling editables
	$(PIP_INSTALL) --no-build-isolation -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP_INSTALL) --no-build-isolation -e '.[dev,rdf,plots,serve]'
	@touch $@

# The kernels that tests begin with, else each test process compiles them. Without them tests pass, too.
.venv/warm: .venv/installed
	-PYTHONPATH=src $(BIN)/python -m tests.warm >/dev/null 2>&1
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
