# Two commands do all the set-up: `make demo` and `make test`. Python 3.11 or newer is needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Commands, servers and workers find their bytecode, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# Each process begins with a run of neighbours, which share what their file makes once, and then helps the others.
# It computes on one core, as threads of small matrices wait more than they work.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal
DEMO ?= fire-demo
# Python compiles what is imported; pip would compile all that is installed, twice as much as is ever used.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test quick thorough live live-server live-pages loaders site lint types unit wheel bench clean

demo: $(VENV)/.runtime
	$(BIN)/fire-toolkit demo --out $(DEMO)
	@echo "The command is in $(BIN): type  . $(BIN)/activate  first; then  fire-toolkit demo --live  to judge yourself."

# Types and the wheel have one process each, which fill what the tests' processes leave of two cores.
test: lint
	$(MAKE) --jobs=3 types wheel unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Without a search for cycles among its objects: a fifth less time, for 1.6 GB of memory in place of half of one.
MYPY := import gc; gc.disable(); gc.enable = gc.disable; from mypy.__main__ import console_entry; console_entry()

types: $(VENV)/.dev
	$(BIN)/python -c "$(MYPY)"

unit: $(VENV)/.dev
	$(PYTEST) -m "not slow"

# The stages and formats alone: no commands, processes, servers or made worlds.
LONG := cli demo elsewhere labelstudio live machines media pages plugins walks \
  formats/test_hostile_files.py test_fuzz.py \
  test_examples_on_the_demo.py test_docs.py test_systems.py
quick: lint types
	$(PYTEST) -m "not slow" tests $(addprefix --ignore=tests/,$(LONG))

# Killed processes, damaged files, and every property by all of its random cases.
thorough: $(VENV)/.dev
	FIRE_THOROUGH=1 $(PYTEST) -m "slow or hypothesis"

# A real Dask cluster on loopback: workers, the scheduler and the command are killed in the middle of the work.
.PHONY: cluster
cluster: $(VENV)/.cluster
	FIRE_CLUSTER=1 $(BIN)/pytest tests/cluster

# The wheel in an empty environment, away from the checkout: the demo must run from it alone.
wheel: $(VENV)/.dev
	$(BIN)/python tests/check_wheel.py

# The documentation as a site of plain files in site/, with the demo's report and gallery; a broken link ends it.
site: $(VENV)/.docs
	$(BIN)/python docs/build_site.py

# Against the real Label Studio (installed on first use, 1 GB) and in Chromium: one process has the server, and the
# other the pages that need none, and BESIDE after them.
live: $(VENV)/.dev site
	$(MAKE) --jobs=2 --output-sync=target live-server live-pages $(BESIDE)

live-server live-pages: $(VENV)/.dev
	FIRE_LIVE=1 $(BIN)/pytest -m "$(if $(findstring server,$@),server,not server)" tests/live

# The pictures of the pages that annotators see, in docs/images; look at them before they are committed.
.PHONY: pictures
pictures: $(VENV)/.dev
	FIRE_LIVE=1 FIRE_PICTURES=docs/images $(BIN)/pytest tests/live/test_live_pictures.py \
	  tests/live/test_live_several.py -k "pictures or ten_captions"

# A release read by the programs that others have (mlcroissant, datasets, the loaders of mteb and BEIR, ranx,
# ir_measures, ir_datasets) in an environment of its own, made on first use (2.3 GB with torch for CPUs).
loaders: $(VENV)/.dev
	$(BIN)/python tests/check_loaders.py .venv-loaders

# What commands print and write, held against the commit in tests/oracles/oracle-commit, cell by cell.
.PHONY: oracles
oracles: $(VENV)/.dev
	VENV=$(abspath $(VENV)) tests/oracles/run.sh

# Faults put into the core one by one, and whether the tests nearest to each fail; `make mutants ONLY=measures`.
.PHONY: mutants
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutants/run.py --only "$(ONLY)"

# Branches of each room that commands and stages take in their tests.
.PHONY: coverage
coverage: $(VENV)/.dev
	$(BIN)/coverage run --data-file=.make/coverage --branch --source=fire_toolkit -m pytest -n 0 -m "not slow" \
	  $(addprefix --ignore=tests/,live labelstudio media pages demo plugins) tests
	$(BIN)/coverage json --data-file=.make/coverage -o .make/coverage.json
	$(BIN)/python tests/mutants/rooms.py .make/coverage.json

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) .venv-loaders $(DEMO) dist build site

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else f"Python 3.11 or newer is needed, found {sys.version.split()[0]}: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip  # that of 2023 takes twice as long for what follows

$(VENV)/.runtime: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --no-compile -c constraints.txt -e '.[video]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --no-compile -c constraints.txt -e '.[dev,video]'
	touch $@ $(VENV)/.runtime

# Dask is needed by `make cluster` alone.
$(VENV)/.cluster: $(VENV)/.dev
	$(PIP) install --no-compile -c constraints.txt -e '.[cluster]'
	touch $@

# The server of `make live`, which installs it on first use.
$(VENV)/.label-studio: $(VENV)/.dev
	PYTHONPATH=tests/live $(BIN)/python -c "from live_server import installed; installed()"
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install --no-compile -c constraints.txt -e '.[docs]'
	touch $@
