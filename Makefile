# `make` lists the targets. Two variables: PYTHON, the interpreter (3.9 or newer), and VENV, the
# folder of its virtual environment, which every target that needs one creates by itself.
PYTHON ?= python3
VENV ?= .venv
STRICT ?=

python := $(VENV)/bin/python
# Names the interpreter, so that asking for another one makes the environment anew.
stamp := $(VENV)/.installed-by-$(subst /,-,$(PYTHON))

.DEFAULT_GOAL := help
.PHONY: help demo test check test-all conformance conformance-websocket bench

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-22s %s\n", $$1, $$2 }'

demo: ## run a real session with an embedded server (needs nothing but Python)
	$(PYTHON) -m conformance.demo

test: $(stamp) ## run the tests
	$(python) -m pytest -n auto

check: $(stamp) ## lint, types, floors, tests, and the coverage gates
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(python) -m pytest tests/test_floors.py
	$(python) -m coverage run -m pytest
	$(python) -m tests.tooling.coverage_gate

test-all: ## run the tests on every supported Python of this machine
	@set -e; $(PYTHON) -m tests.tooling.pythons | while read -r version interpreter; do \
		echo "== Python $$version"; \
		$(MAKE) --no-print-directory test PYTHON="$$interpreter" VENV=".venv-$$version" </dev/null; \
	done

conformance: $(stamp) ## meet reference servers and the official suite (STRICT=1: what cannot run fails)
	STRICT=$(STRICT) $(python) -m conformance

conformance-websocket: $(stamp) ## meet the Autobahn testsuite (needs Python 2.7 for its server)
	$(python) -m conformance.websocket

bench: $(stamp) ## measure against the asyncio floor and the clients that are installed
	$(python) -m tests.bench

$(stamp): tests/requirements.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(python) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@
