.DEFAULT_GOAL := help
.PHONY: help run setup test test-unit coverage test-faults test-oracles test-upgrade test-clients test-dashboards check fmt docs bench lock images clean

# Compiled modules are kept: without them a service starts in three times as long, and the suite starts hundreds.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = .venv/bin/python -m pytest
# The last commit of the version before this one.
PREVIOUS = 6bb49ebd

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run:  ## install what is needed and start the whole system in this terminal
	@requirements/install standalone
	@exec .venv/bin/dashwright serve

setup:  ## install what tests and checks need
	@requirements/install dev

test: setup  ## run every test against real PostgreSQL and RabbitMQ, found or provided
	@$(PYTEST) -n auto --dist loadscope --no-loadscope-reorder -m "not faults and not oracles and not upgrade"

test-unit: setup  ## run the unit tests except the exhaustive ones: under half a minute, no server
	@DASHWRIGHT_TEST_PROFILE=quick $(PYTEST) -n logical --dist loadscope -m "not exhaustive" tests/unit

coverage: setup  ## run test-unit and fail below the coverage that pyproject.toml demands
	@DASHWRIGHT_TEST_PROFILE=quick $(PYTEST) -q -n logical --dist loadscope --cov --cov-report=term:skip-covered -m "not exhaustive" tests/unit

test-faults: setup  ## run the tests that kill, fill or attack processes, each with its own servers (installs Chromium)
	@$(PYTEST) -n auto --dist loadscope -m faults

test-oracles: setup  ## compare with MariaDB, Prometheus, Grafana, git hosts and AsyncAPI; installs what is missing if allowed
	@$(PYTEST) -m oracles tests/oracles

test-upgrade: setup  ## run this version next to that of a commit, over one database and broker (PREVIOUS=6bb49ebd)
	@tests/upgrade/run $(PREVIOUS)

test-clients: setup  ## run kubectl, Kubernetes' Python clients, tools of Grafana and grafana-client's own tests; downloads them (GROUPS="kubectl teams")
	@.venv/bin/python -m tests.clients $(GROUPS)

test-dashboards: setup  ## draw the dashboards of a directory over generated data, and print what each panel shows (DASHBOARD_CORPUS=examples)
	@.venv/bin/python -m tests.dashboards

check: setup  ## lint, types, import rules, spelling and language
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/codespell
	.venv/bin/python -m tests.language

fmt: setup  ## format the code
	.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format .

docs: setup  ## write generated tables, pictures, the settings of docker-compose.yml, .env.example and the broker's definitions
	@.venv/bin/python docs/tables.py
	@.venv/bin/python docs/pictures.py
	@.venv/bin/python -m deploy.settings
	@.venv/bin/python -m deploy.definitions

bench:  ## measure against bare references (ROWS=E1,R)
	@requirements/install bench
	@.venv/bin/python -m benchmarks

lock:  ## write requirements/*.txt (needs uv; LOCK=--upgrade takes the newest versions)
	requirements/lock $(LOCK)

images: setup  ## pin the base images by the digests that their tags have now (needs the registry)
	@.venv/bin/python -m deploy.images

clean:  ## remove generated files, but no data
	rm -rf .coverage .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
