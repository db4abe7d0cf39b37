.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.9
EXPORT = $(UV) export --quiet --frozen --no-emit-workspace --no-header --format requirements-txt
MEMBERS := schemas core $(sort $(wildcard services/*)) lab sdk cli
# The package `playmolt`, its dependencies, and those of its extra `env`.
DIST := schemas core services/ox-engine services/trial-engine sdk
# Extras that the platform does not need; users install those that they use.
ADAPTERS := env inspect pandas
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
export UV_PYTHON := $(BIN)/python
# Without compiled files, every test run would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-fast check bench soak lock docs image release dist typescript pictures

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(DEV) ## create .venv with everything for development (hashes checked)

# Installs the packages that run. If those for development are already installed, it keeps them.
$(RUN): requirements.lock VERSION pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS))
	@command -v $(PYTHON) >/dev/null || { echo "setup: $(PYTHON) not found; install Python 3.11 to 3.14" >&2; exit 1; }
	@$(firstword $(wildcard $(BIN)/python) $(PYTHON)) deploy/prerequisites.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(call install,requirements.lock $(if $(wildcard $(DEV)),requirements-dev.lock))
	test -e $(DEV) || { deploy/prune.sh $(VENV)/lib && $(UV) pip uninstall --quiet setuptools uv; }
	touch $@

$(DEV): $(RUN) requirements-dev.lock
	$(call install,requirements.lock requirements-dev.lock)
	touch $@

# Running needs neither uv nor the environment's setuptools, so only `make setup` keeps them.
define install
test -x $(UV) || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
$(UV) pip sync --quiet --require-hashes --only-binary :all: $(1)
$(UV) pip install --quiet --no-deps --no-build-isolation $(addprefix -e ./,$(MEMBERS))
endef

demo: $(RUN) ## play a game of every kind to its end, on real NATS and Postgres
	$(BIN)/playmolt demo --once

# Four workers on two cores: tests wait for a quarter of their time. Six are 8 % faster and take 10 % more processor time.
test: $(DEV) ## run every test
	$(BIN)/python -m pytest -n 4 --dist loadscope

test-fast: $(DEV) ## run the fast unit tests, which start no processes, within a minute
	$(BIN)/python -m pytest -n 2 --dist loadscope --fast -q $(wildcard $(addsuffix /tests,$(MEMBERS)))

check: $(DEV) ## format, lint, types, architecture, prose
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/python -m tests.prose

bench: $(DEV) ## measure the product beside its floor and what a user would write, or beside the checkout BESIDE
	$(BIN)/python -m bench --json bench.json $(if $(BESIDE),--beside $(BESIDE))

soak: $(DEV) ## play all games for MINUTES (5) while processes are killed by SEED (1), then compare everything
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),5) --seed $(or $(SEED),1)

lock: $(DEV) ## renew the lock files from the pyproject files
	$(UV) lock --upgrade
	$(EXPORT) --all-packages --all-extras $(addprefix --no-extra ,$(ADAPTERS)) --no-default-groups --group build -o requirements.lock
	$(EXPORT) --only-group dev -o requirements-dev.lock
	UV=$(UV) deploy/locks.sh

image: ## build the image of all services and test it
	deploy/image.sh

release: $(DEV) ## build and check a release in dist/: PARTS, REGISTRY, PROVENANCE_KEY
	$(BIN)/python -m deploy.release

dist: $(DEV) ## build the wheels for authors of bots in dist/
	rm -rf dist
	for member in $(DIST); do $(UV) build --quiet --wheel --no-build-isolation --out-dir dist $$member || exit; done

typescript: $(RUN) ## generate the types of sdk/typescript from the OpenAPI document (needs Node)
	cd sdk/typescript && npm install --silent
	$(BIN)/python -m playmolt_gateway.http.openapi > sdk/typescript/openapi.json
	cd sdk/typescript && npm run --silent generate

pictures: $(DEV) ## redraw the pictures of the README from real games
	$(BIN)/python -m tests.pictures

docs: $(RUN) ## regenerate the generated pages and schemas
	$(BIN)/python -m playmolt_core.settings > docs/settings.md
	$(BIN)/python -m playmolt_cli.agora.folder_keys > docs/agora-folder-keys.md
	$(BIN)/python -m playmolt_schemas.export
	$(BIN)/python -m playmolt_cli.schemas
