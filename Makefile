.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.9
MEMBERS := schemas core $(sort $(wildcard services/*)) sdk cli
STAMP := $(VENV)/.installed
export UV_PYTHON := $(BIN)/python
# Without compiled files every worker of the tests compiles every module anew, at every run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check bench soak lock docs image

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## create .venv from requirements.lock (hashes checked)

$(STAMP): requirements.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS))
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) pip sync --quiet --require-hashes requirements.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation $(addprefix -e ./,$(MEMBERS))
	touch $@

demo: $(STAMP) ## play every game there is to the end, on real NATS and Postgres
	$(BIN)/playmolt demo --once

# Three workers also on two cores: tests wait for a third of their time.
test: $(STAMP) ## run every test
	$(BIN)/python -m pytest -n 3 --dist loadscope

check: $(STAMP) ## format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

bench: $(STAMP) ## the product beside its floor and beside what a user would write instead
	$(BIN)/python -m bench

soak: $(STAMP) ## five minutes of every game while processes are killed, then everything is compared
	$(BIN)/python -m tests.soak

lock: $(STAMP) ## renew requirements.lock from the pyproject files
	$(UV) lock --upgrade
	$(UV) export --quiet --all-packages --all-extras --group dev --no-emit-workspace --no-header --format requirements-txt -o requirements.lock
	UV=$(UV) deploy/locks.sh

image: $(STAMP) ## build the image of all services with buildah and try it
	deploy/image.sh

docs: $(STAMP) ## write the generated pages and schemas anew
	$(BIN)/python -m playmolt_core.settings > docs/settings.md
	$(BIN)/python -m playmolt_schemas.export
	$(BIN)/python -m playmolt_cli.schemas
