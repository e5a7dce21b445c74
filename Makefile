# maskwell: `make help` lists the commands. Each needs Python >= 3.11, make and the usual package registry.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.txt
RUN_LOCK := requirements/run.txt
KERNELS := $(wildcard src/maskwell/designs/kernels/_compiled.c)
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
# One process more than there are cores, since tests also wait for browsers and services; each with one thread for linear
# algebra. The tests of a file run in one process, so that what they share is made once.
# To see one test alone: .venv/bin/python -m pytest -x PATH
PROCESSES ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$n -gt 7 ] && echo 8 || echo $$((n + 1)))
# ORDER=1 runs the tests in a random order, the same for the same number.
ORDER ?=
WORDS := -q $(if $(ORDER),--order $(ORDER))
PARALLEL := --dist loadfile --no-loadscope-reorder --numprocesses
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(PARALLEL) $(PROCESSES) $(WORDS)
# Documents, examples and commands whose tests compare digits that are printed, and tests of what is decided: they run with
# other last bits, as on another processor, and with fewer processes, since the other tests run meanwhile.
SEED ?= 1
BESIDE := $(shell n=$$((($(PROCESSES) + 1) / 3)); [ $$n -gt 1 ] && echo $$n || echo 1)
TREMBLING := $(BIN)/python -m tests.support.trembling $(SEED) $(PARALLEL)
PRINTED := src docs README.md tests/golden $(addprefix tests/end_to_end/test_,documents.py cli_audit.py \
  cli_design.py cli_estimate.py cli_estimate_receipt.py cli_improve.py cli_choose.py \
  cli_sample_size.py cli_regress.py cli_risk.py demo.py) tests/unit/planning tests/unit/microdata/folder \
  $(addprefix tests/unit/reports/test_,page_pictures.py release_page.py)
LOG := $(VENV)/checks.log
# Tests start the command thousands of times: what Python compiles is kept, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test browser spark check fuzz sanitize bench docs lock quick tremble test-settings test-oldest test-installed dist ready clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /	/' | awk -F'\t' '{printf "make %-14s %s\n", $$1, $$2}'

setup: $(VENV)/installed.stamp  ## an environment in .venv from the lock file

run: $(VENV)/running.stamp  ## the service with an example survey, on this machine: answer it, and watch its estimates move
	@$(BIN)/maskwell serve --example

test:  ## set up, then every check and test
	@$(MAKE) --no-print-directory --jobs=2 setup browser
	@$(MAKE) --no-print-directory check WITH="spark $(VENV)/compiled.stamp" JOBS=3

# Tests of pages need a browser. Where this user may install packages of the system, Chromium is installed: without its
# windows where there is such a package, which takes half the processor time.
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome chrome
APT := DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends install fonts-liberation
browser:
	@for name in $(BROWSERS); do command -v $$name > /dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then echo "set up: chromium"; \
	  { apt-get -qq update && { $(APT) chromium-headless-shell || $(APT) chromium; }; } > /dev/null 2>&1 && exit 0; fi; \
	echo "no chromium: tests of pages in a browser are left out (install chromium to run them)"

# Tests of Spark need Java, which nobody else misses: without it the 430 MB of PySpark are not loaded either.
spark: setup
	@if ! command -v java > /dev/null; then echo "no java: tests of Spark are left out (install Java 17 to run them)"; \
	elif ! cmp -s requirements/spark.txt $(VENV)/spark.txt; then echo "set up: PySpark, 430 MB to download; a minute or two"; \
	  DIST_EXTRA_CONFIG="$(CURDIR)/requirements/spark.cfg" $(PIP) install --no-compile --no-deps --no-build-isolation \
	    --require-hashes -r requirements/spark.txt 2> /dev/null && cp requirements/spark.txt $(VENV) || \
	    echo "no PySpark: tests of Spark are left out (run make spark with a network connection)"; fi

# In a new environment what tests import is compiled while Spark is loaded.
$(VENV)/compiled.stamp: | setup
	@$(BIN)/python -m pytest -q --collect-only tests > /dev/null; touch $@

# Tests wait for browsers and services, so the other checks run beside them, and after those the trembling tests.
# What they say comes last. WITH names what the tests wait for.
WITH ?=
JOBS ?= 2
check: setup  ## formatter, linter, types, import contracts, documentation, tests
	@echo "check: tests; beside them format, lint, types, import contracts, documentation, what is printed or decided"
	@status=0; $(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) checks-beside tests WITH="$(WITH)" || status=1; \
	cat $(LOG); exit $$status

.PHONY: tests printed checks checks-beside
tests: setup $(WITH)
	@$(PYTEST) tests $(addprefix --ignore=,$(filter tests/%,$(PRINTED)))

printed: setup
	@echo "check: what is printed or decided, with other last bits"; $(TREMBLING) $(BESIDE) $(WORDS) $(PRINTED)

checks-beside: setup
	@{ status=0; $(MAKE) --no-print-directory checks || status=1; $(MAKE) --no-print-directory printed && exit $$status; } > $(LOG) 2>&1

# Sphinx does not start in a language that is not installed.
checks: setup
	@echo "check: format"; $(BIN)/ruff format --quiet --check --output-format concise . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@echo "check: lint"; $(BIN)/ruff check --quiet .
	@echo "check: types"; $(BIN)/mypy --no-error-summary
	@echo "check: import contracts"; out=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$out"; exit 1; }
	@echo "check: documentation"; LC_ALL=C $(BIN)/python -m sphinx -q -W --keep-going -b dummy -D smartquotes=0 docs docs/_build/check

# A failure says how to run its case alone. START=N repeats the rounds of an earlier run.
MINUTES ?= 60
START ?=
ROOM ?= estimation
quick: setup  ## lint, types and the tests of one room in under half a minute: ROOM=estimation
	@test -d tests/unit/$(ROOM) || { echo "error: tests/unit has no folder $(ROOM): one of $$(ls -d tests/unit/*/ | xargs -n 1 basename | grep -v __ | xargs)" >&2; exit 2; }
	@$(BIN)/ruff format --quiet --check . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .; $(BIN)/lint-imports --no-logo > /dev/null || $(BIN)/lint-imports --no-logo
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -x $(PARALLEL) $(PROCESSES) -q tests/unit/$(ROOM)

fuzz: setup  ## hostile input that no run before has tried, for MINUTES=60
	@$(BIN)/python -m tests.support.fuzz_for_hours $(MINUTES) $(START)

sanitize: setup  ## the compiled kernels under AddressSanitizer and UBSan; needs gcc
	@$(BIN)/python -m tests.support.sanitize

bench: setup  ## speed of this machine, against the bars in the documentation
	@$(BIN)/python -m bench

docs: setup  ## the documentation in docs/_build/html, warnings are errors
	@echo "docs: docs/_build/html/index.html"; LC_ALL=C $(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

# Local wheel folders and extra indexes are left out, so that the hashes cover the wheels of every platform. To move to
# newer versions: make lock LOCKFLAGS=--upgrade
COMPILE := env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE=/dev/null CUSTOM_COMPILE_COMMAND="make lock" \
  .venv-lock/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url \
  --no-emit-trusted-host --no-emit-find-links --no-emit-options $(LOCKFLAGS)
lock: python-is-new-enough  ## recompile the files of requirements/ after a change of dependencies
	@echo "lock: $(LOCK)"; $(PYTHON) -m venv --clear .venv-lock
	@.venv-lock/bin/python -m pip -qq --disable-pip-version-check install pip-tools
	@$(COMPILE) --extra excel --extra labelled --extra pandas --extra polars --extra report --extra serve --output-file $(LOCK) \
	  pyproject.toml requirements/dev.in
	@$(COMPILE) --output-file requirements/dist.txt requirements/dist.in
	@rm -rf .venv-lock
	@$(PYTHON) requirements/run.py > $(RUN_LOCK)

tremble: setup  ## all tests with other last bits of what libraries compute, by SEED=1
	@$(TREMBLING) $(PROCESSES) $(WORDS)

# Each is set up from a clone, and takes some ten minutes on two cores.
test-settings: setup  ## make test under nohup, in a random order in a path with spaces, and as another user
	@$(BIN)/python -m tests.support.settings

# The newest test tools are used: they are not dependencies of users. OLDEST=tests/unit/engines runs a part.
OLDEST ?= tests
test-oldest: python-is-new-enough  ## the tests with the oldest allowed versions of the dependencies
	@echo "set up: .venv-oldest"; $(PYTHON) -m venv --clear .venv-oldest
	@$(PYTHON) requirements/oldest.py > .venv-oldest/oldest.txt
	@.venv-oldest/bin/python -m pip --quiet --disable-pip-version-check install -r .venv-oldest/oldest.txt -r requirements/dev.in -e .
	@OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python -m pytest $(PARALLEL) $(PROCESSES) $(WORDS) -W default $(OLDEST)

# Needs nothing but Python and pip, so that it runs on every system; the Python that builds is the one that tries.
test-installed: python-is-new-enough  ## build the package, install it without extras into an empty environment, and use it
	@$(PYTHON) tests/support/packages.py wheel
	@PYTHONS="$(PYTHON)" $(PYTHON) tests/support/packages.py try

# PYTHONS="python3.12 /opt/python3.13/bin/python3" names those that the wheels are tried with.
export PYTHONS ?= python3.11 python3.12 python3.13 python3.14
dist: .venv-dist/tools.stamp  ## what is published, into dist/: built, checked, and tried in empty environments
	@.venv-dist/bin/python tests/support/packages.py build
	@.venv-dist/bin/python tests/support/packages.py try

TAG ?=
ready: python-is-new-enough  ## what must be filled in before a version is published, for TAG=v0.1.0
	@$(PYTHON) tests/support/packages.py ready $(TAG)

.venv-dist/tools.stamp: requirements/dist.txt
	@$(MAKE) --no-print-directory python-is-new-enough
	@echo "set up: .venv-dist from $<"; $(PYTHON) -m venv --clear .venv-dist
	@.venv-dist/bin/python requirements/install.py $<
	@touch $@

clean:  ## remove what the other commands made
	@rm -rf $(VENV) .venv-lock .venv-oldest .venv-dist .venv-peers build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache \
	  .hypothesis src/*.egg-info src/maskwell/designs/kernels/_compiled*.so
	@find src tests docs bench requirements -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: python-is-new-enough
python-is-new-enough:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "error:\
	 maskwell needs Python 3.11 or newer, found: $$($(PYTHON) --version 2>&1 | head -n 1);\
	 name another with: make PYTHON=python3.12 ..." >&2; exit 1; }

# What make run needs is a part of the lock, which make test completes in the same environment. One that was completed
# has that part already. A changed lock starts anew: pip does not remove what is no longer named.
# The database server of the tests runs as a user of its own, who must be able to read it whatever the umask.
NEW := umask 022; $(PYTHON) -m venv --clear $(VENV)
INSTALL := umask 022; $(BIN)/python requirements/install.py
SIZE = $$(grep -c '^[a-z0-9-]*==' $<) packages

$(VENV)/run.stamp: $(RUN_LOCK)
	@$(MAKE) --no-print-directory python-is-new-enough
	@if [ -e $(VENV)/locked.stamp ]; then $(MAKE) --no-print-directory $(VENV)/locked.stamp; else \
	  echo "set up: $(VENV) from $<: $(SIZE), about 135 MB to download; half a minute"; $(NEW) && $(INSTALL) $<; fi
	@touch $@

$(VENV)/locked.stamp: $(LOCK)
	@$(MAKE) --no-print-directory python-is-new-enough
	@echo "set up: $(VENV) from $<: $(SIZE), about 280 MB to download; two to five minutes"
	@[ -e $(VENV)/run.stamp ] && [ ! -e $@ ] && [ ! $(RUN_LOCK) -nt $(VENV)/run.stamp ] || { $(NEW); }
	@$(INSTALL) $<
	@touch $@ $(VENV)/run.stamp

EDITABLE = echo "set up: maskwell into $(VENV), compiling its kernels"; \
  $(PIP) install --no-deps --no-build-isolation --editable .

$(VENV)/running.stamp: $(VENV)/run.stamp pyproject.toml setup.py $(KERNELS)
	@$(EDITABLE)
	@touch $@

$(VENV)/installed.stamp: $(VENV)/locked.stamp pyproject.toml setup.py $(KERNELS)
	@$(EDITABLE)
	@touch $@ $(VENV)/running.stamp
