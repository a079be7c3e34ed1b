# `make demo` and `make test` set up what they need: Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := app bench docs tests
FUZZ_SECONDS ?= 600
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

.PHONY: demo test check run bench dialects docs docs-check ops fuzz clean

demo: $(VENV)/demo.stamp
	$(BIN)/toolfold demo

test: $(VENV)/dev.stamp
	$(BIN)/pytest

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pytest

run: $(VENV)/demo.stamp
	$(BIN)/toolfold serve

bench: $(VENV)/dev.stamp
	$(BIN)/python -m bench
	$(BIN)/python -m bench.retrieval $(or $(TOOLFOLD_RETRIEVAL_DIR),tests/data/retrieval) \
	  --ranker lexical --ranker bm25

docs: $(VENV)/dev.stamp
	$(BIN)/python -m docs

# Runs every command and configuration that the documentation shows.
docs-check: $(VENV)/dev.stamp
	$(BIN)/python -m docs.check

# DIALECTS_CLIENTS: a directory of client scripts; DIALECTS_MODEL_URL, DIALECTS_MODEL: a model.
dialects: $(VENV)/dev.stamp
	$(BIN)/python -m bench.dialects

# Every check of a running Toolfold by its id; installs the Debian packages that it needs.
ops: $(VENV)/dev.stamp
	$(BIN)/python -m bench.ops

fuzz: $(VENV)/dev.stamp
	for target in sse splice guard search; do \
	  $(BIN)/python -m bench.fuzz $$target $(FUZZ_SECONDS) || exit 1; \
	done

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Debian's python3 comes without the package that makes virtual environments.
$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV) && command -v apt-get >/dev/null && \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq python3-venv && \
	  $(PYTHON) -m venv $(VENV); \
	} || { echo "make: $(PYTHON) -m venv failed: Python 3.11 or newer with venv is needed"; exit 1; }

$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@
