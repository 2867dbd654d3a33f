# `make run` and `make test` do all set-up by themselves; `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
FLOWER := build/flower
FLOWER_TESTS := build/flower-tests
RAY_TESTS := build/ray-tests
PYTEST := -m pytest -q --numprocesses auto --dist worksteal
# Tests start hundreds of Python processes; without bytecode files each of them would compile all sources again.
export PYTHONDONTWRITEBYTECODE :=
FRESH_KERNELS := $(CURDIR)/build/numba-cache-coverage

.PHONY: help run demo classify test test-long setup setup-dev lock extension dist checks lint types layers typescript kernels test-flower test-ray \
	bench bench-engine bench-engines bench-server bench-extension clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

run: setup ## start the server (on http://127.0.0.1:8000)
	@$(BIN)/eitr serve

demo: setup ## watch a federation under attack: a server, ten participants, four of them bad
	@$(BIN)/eitr demo

classify: setup ## classify a sample page
	@$(BIN)/eitr classify src/eitr/assets/sample.html

test: setup-dev ## what must pass before a change lands: all checks and all tests but the long ones
	@$(MAKE) --no-print-directory -j2 checks kernels
	$(BIN)/python $(PYTEST)

# Coverage needs three passes. Compiled kernels cannot be traced, so their tests run again with the JIT off. The
# functions that generate machine code run only while something is compiled, so all kernels are compiled anew.
test-long: setup-dev ## what a nightly job runs: the long tests too, with coverage and once more with the JIT off
	@$(MAKE) --no-print-directory -j2 checks kernels
	rm -rf $(FRESH_KERNELS) .coverage .coverage.*
	NUMBA_CACHE_DIR=$(FRESH_KERNELS) $(BIN)/coverage run -m tests.kernels
	$(BIN)/coverage run $(PYTEST) --hypothesis-profile=long -m "long or not long"
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run $(PYTEST) --hypothesis-profile=long tests/robust tests/aggregation tests/model
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

# Flower has an environment of its own: it wants older versions of what the command line and the server use.
test-flower: ## install Flower into an environment of its own and run its tests, the long ones too
	test -x $(FLOWER_TESTS)/bin/python || $(PYTHON) -m venv $(FLOWER_TESTS)
	$(FLOWER_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(FLOWER_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[flower,lab]" pytest pytest-xdist hypothesis
	$(FLOWER_TESTS)/bin/python -m pytest -q -m "long or not long" tests/flower

# Ray has an environment of its own: it takes 270 MB, which few need.
test-ray: ## install Ray into an environment of its own and run its tests on nodes of this machine, the long ones too
	test -x $(RAY_TESTS)/bin/python || $(PYTHON) -m venv $(RAY_TESTS)
	$(RAY_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(RAY_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[ray,lab,server]" pytest pytest-xdist hypothesis
	$(RAY_TESTS)/bin/python -m pytest -q -m "long or not long" tests/cluster

setup: ## install what the server needs (.venv)
	@$(PYTHON) scripts/setup.py

setup-dev: ## install everything, torch included
	@$(PYTHON) scripts/setup.py --dev

# In an environment of its own: it must also work when the lock file contradicts pyproject.toml and set-up fails.
lock: ## write requirements.lock anew after a change of pyproject.toml (UPGRADE=--upgrade: with the newest versions)
	test -x build/lock/bin/uv || { $(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet "uv>=0.9,<1"; }
	build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --extra dev $(UPGRADE) \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

extension: setup-dev ## build the browser extension (extension/dist, dist/eitr-*.zip)
	node extension/build.mjs --all

dist: setup-dev ## build wheel and sdist with the extension's packages inside (dist/eitr-*.whl, dist/eitr-*.tar.gz)
	$(BIN)/python scripts/build_release.py

checks: lint types layers typescript ## style, types and layers, without tests

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev
	$(BIN)/mypy

layers: setup-dev
	$(BIN)/lint-imports --no-logo

typescript: setup-dev
	npm run --silent lint
	npm run --silent types

kernels: setup-dev ## compile all kernels for the tests (build/numba-cache)
	$(BIN)/python -m tests.kernels

bench: setup-dev ## compare speed and memory with other aggregators
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.bench

# Flower has an environment of its own: it wants older versions of what the command line uses.
bench-engine: setup-dev ## rounds a second of the lab's engine, of Flower's simulation and of a PyTorch loop
	test -x $(FLOWER)/bin/python || $(PYTHON) -m venv $(FLOWER)
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(FLOWER)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-engine.txt
	$(BIN)/python -m benchmarks.engine --flower-python $(FLOWER)/bin/python

# In the environment of Flower's tests, with its simulation (Ray) besides.
bench-engines: setup-dev ## the same federation on the lab's engine, Flower's simulation and deployment, and the server
	test -x $(FLOWER_TESTS)/bin/python || $(PYTHON) -m venv $(FLOWER_TESTS)
	$(FLOWER_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(FLOWER_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[flower,lab]" pytest "flwr[simulation]>=1.41,<1.43"
	$(BIN)/python -m benchmarks.engines_table --flower-python $(FLOWER_TESTS)/bin/python

bench-server: setup-dev ## updates a second, waiting and memory of the server, beside a naive endpoint
	$(BIN)/python -m benchmarks.server

bench-extension: setup-dev ## what the browser extension costs in Chromium (docs/extension-cost.md)
	$(BIN)/python -m benchmarks.extension

clean: ## remove what builds and tests leave behind (not .venv, not node_modules)
	rm -rf build dist extension/dist bench-out htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -not -path './node_modules/*' -prune -exec rm -rf {} +
