# Everything a user or CI runs. `make` alone lists the targets.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
STAMP_DEV := $(VENV)/.installed-dev
# Packages need about 350 MB, the development packages as much again.
ROOM = [ "$$(df -Pm . | awk 'NR == 2 { print $$4 }')" -ge 400 ] || { echo "The disk of $(CURDIR) is full: Muster's packages need 400 MB."; exit 1; }
# Where tests touch the database; what does not can't differ between SQLite and PostgreSQL.
DATABASE_TESTS := tests/core tests/accounts tests/clusters tests/topology tests/organizations tests/workloads tests/metrics tests/controlplane tests/contracts tests/api

# What Python compiled is kept: a run of the tests starts dozens of processes that would each compile all of it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run setup test test-all check openapi fix bench cluster cluster-up cluster-down lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Muster needs Python 3.11 or newer: install it, or say which one with PYTHON=/path/to/python3."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Muster needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Say which one with PYTHON=/path/to/python3."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing: install it (Debian and Ubuntu: apt install python3-venv)."; exit 1; }
	@$(ROOM)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "The environment $(VENV) could not be made here, for the reason above."; exit 1; }

$(STAMP): requirements.txt | $(VENV)/bin/python
	@$(ROOM)
	@echo "Installing Muster's packages into $(VENV) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

$(STAMP_DEV): requirements-dev.txt $(STAMP)
	@echo "Installing the development packages into $(VENV) …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

setup: $(STAMP) ## create .venv with what Muster needs

run: $(STAMP) ## start everything on http://127.0.0.1:8000 (another port: make run PORT=8010)
	@exec $(BIN)/python manage.py up --port $(PORT)

# Tests that start every process run alone; the rest runs on both cores, each file on one of them.
test: $(STAMP_DEV) ## pure, database (SQLite) and the main job in a browser
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not stack and not faults and not cluster and not long"
	$(BIN)/python -m pytest -q -m "stack and not faults and not cluster and not long" tests/stack

# What `make test` has run is not run again: each test runs once, but for those that run on PostgreSQL too.
test-all: test ## everything: PostgreSQL, faults and the real cluster too
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "long and not stack and not faults and not cluster"
	$(BIN)/python -m tests.postgres $(BIN)/python -m pytest -q -n 2 --dist loadfile -m "database and not stack and not faults and not cluster" $(DATABASE_TESTS)
	$(BIN)/python -m pytest -q -m "(faults or (stack and long)) and not cluster" tests/stack tests/faults
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "cluster and not stack" tests/contract tests/clusters tests/cluster
	$(BIN)/python -m pytest -q -m "cluster and stack" tests/cluster

check: $(STAMP_DEV) ## static checks, fast to slow
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files -z '*.html' | xargs -0 -r $(BIN)/djade --check --target-version 5.2
	$(BIN)/lint-imports
	$(BIN)/mypy .
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py catalogues check
	$(BIN)/python manage.py spectacular --validate --fail-on-warn | diff -u openapi.yaml - || { echo "openapi.yaml is not current: run make openapi"; exit 1; }

openapi: $(STAMP_DEV) ## write openapi.yaml anew
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file openapi.yaml

fix: $(STAMP_DEV) ## let the tools repair what they can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files -z '*.html' | xargs -0 -r $(BIN)/djade --target-version 5.2

bench: $(STAMP_DEV) ## measure; writes docs/benchmarks.md
	$(BIN)/python -m tests.bench

cluster: $(STAMP_DEV) ## build a real etcd, kube-apiserver, kube-controller-manager and KWOK once (Go 1.26, 5 to 15 minutes)
	@$(BIN)/python -m tests.cluster build

cluster-up: $(STAMP_DEV) ## start the real cluster on loopback, with 18 nodes and the actors
	@$(BIN)/python -m tests.cluster up

cluster-down: $(STAMP_DEV) ## end it
	@$(BIN)/python -m tests.cluster down

lock: ## resolve requirements.txt and requirements-dev.txt anew
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links pyproject.toml --group dev -c requirements.txt -o requirements-dev.txt

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
