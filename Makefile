# `make demo` and `make test` set up what they need: Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := app bench docs tests
FUZZ_SECONDS ?= 600
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

# What makes the image: docker, podman and buildah take the same arguments.
ENGINE ?= docker
IMAGE ?= toolfold
# The extras that the image has, as its Dockerfile says.
EXTRAS := $(shell sed -n 's/^ARG EXTRAS=//p' Dockerfile)

.PHONY: demo test check run bench clients dialects live live-local docs docs-check ops soak fuzz image sbom deploy-check clean

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

# Real clients, each in its own environment, through Toolfold. CLIENTS_DIR: their scripts.
clients: $(VENV)/dev.stamp
	$(BIN)/python -m bench.clients

# DIALECTS_CLIENTS: a directory of client scripts; DIALECTS_MODEL_URL, DIALECTS_MODEL: a model.
dialects: $(VENV)/dev.stamp
	$(BIN)/python -m bench.dialects

# Every check of a running Toolfold by its id; installs the Debian packages that it needs.
ops: $(VENV)/dev.stamp
	$(BIN)/python -m bench.ops

# Ten minutes of load with new tenants and tools, cancels and failures.
soak: $(VENV)/dev.stamp
	SOAK_SECONDS=600 $(BIN)/python -m bench.ops --only C44

fuzz: $(VENV)/dev.stamp
	for target in sse splice guard search; do \
	  $(BIN)/python -m bench.fuzz $$target $(FUZZ_SECONDS) || exit 1; \
	done

image:
	$(ENGINE) build --tag $(IMAGE) .

# What is in the image, as CycloneDX. The tool has an environment of its own: what it depends on
# makes jsonschema, which Toolfold imports, seconds slower.
sbom: | $(VENV)/bin/python
	rm -rf $(VENV)/image && mkdir -p dist
	$(BIN)/python -m venv $(VENV)/image && $(BIN)/python -m venv $(VENV)/sbom
	$(VENV)/image/bin/python -m pip install --quiet '.[$(EXTRAS)]'
	$(VENV)/image/bin/python -m pip uninstall --quiet --yes setuptools pip
	$(VENV)/sbom/bin/python -m pip install --quiet 'cyclonedx-bom>=7.2'
	$(VENV)/sbom/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  --output-file dist/toolfold.cdx.json $(VENV)/image/bin/python

# With the tools that these tests would else be skipped without; as root also the image's.
deploy-check: $(VENV)/dev.stamp
	$(SUDO) apt-get update -qq
	$(SUDO) apt-get install -y -qq --no-install-recommends \
	  buildah mmdebstrap kubernetes-client prometheus haproxy systemd
	$(BIN)/pytest tests/deploy -rs

# Against a real model: LIVE_BASE_URL, LIVE_MODEL and LIVE_API_KEY say where (see bench/live).
live: $(VENV)/dev.stamp
	$(BIN)/python -m bench.live

# With a small real model on this machine; skips where its packages are not to be had.
live-local: $(VENV)/dev.stamp
	$(BIN)/python -m bench.live.local

clean:
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

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
