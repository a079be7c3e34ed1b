# `make demo` and `make test` set up what they need: Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := app bench tests

.PHONY: demo test check run bench clean

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

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Debian's python3 comes without venv: its own bootstrap, virtualenv as a zip, is the way out.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@
