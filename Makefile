# `make` lists the targets. Two variables: PYTHON, the interpreter (3.9 or newer), and VENV, the
# folder of its virtual environment, which every target that needs one creates by itself.
PYTHON ?= python3
VENV ?= .venv
STRICT ?=

python := $(VENV)/bin/python
# Names the interpreter, so that asking for another one makes the environment anew.
stamp := $(VENV)/.installed-by-$(subst /,-,$(PYTHON))

.DEFAULT_GOAL := help
.PHONY: help demo test check test-all browser dist vendored windows conformance conformance-websocket capture bench hosts soak fuzz sabotage

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-22s %s\n", $$1, $$2 }'

demo: ## run a real session with an embedded server (needs nothing but Python)
	$(PYTHON) -m conformance.demo

# The tests of a file run on one core, so that what they share is made once.
test: $(stamp) ## run the tests, but for the few slow ones that check runs as well
	$(python) -m pytest -p tests.support.forking -n auto --dist loadfile -m "not slow"

check: $(stamp) ## lint, types, floors, tests, and their coverage
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(python) -m tests.tools.public_types
	$(python) -m tests.tools.page_lint
	$(python) -m pytest -n auto --dist loadfile --cov --cov-report=
	$(VENV)/bin/coverage report --fail-under=96 --format=total

test-all: ## run the tests on every supported Python of this machine
	@set -e; $(PYTHON) -m tests.tools.pythons | while read -r version interpreter; do \
		echo "== Python $$version"; \
		$(MAKE) --no-print-directory test PYTHON="$$interpreter" VENV=".venv-$$version" </dev/null; \
	done
	@if command -v pypy3 >/dev/null; then echo "== PyPy"; \
		pypy3 -m conformance.demo && pypy3 -m conformance.replay; \
	else echo "PyPy is not installed"; fi

browser: $(stamp) ## install a Chromium for the tests of the page, where PATH has none
	$(python) -m tests.tools.browser

dist: ## wheel, source archive, single-file mcpclient.pyz, digests and parts list, in dist/
	$(PYTHON) -m tests.tools.distribution

vendored: $(stamp) ## run the tests on a copy under another name (PATHS="tests/net" PARTS="stdio,http")
	$(python) -m tests.tools.vendored $(if $(PARTS),--parts $(PARTS)) $(PATHS)

windows: $(stamp) ## run demo, replay, servers and tests by Windows Pythons (needs wine; PATHS="tests/net")
	$(python) -m tests.tools.windows $(PATHS)

# Needs nothing but Python, so that it runs, as far as it can, on a machine that has nothing else.
conformance: ## transcripts, reference servers, the official suite (STRICT=1: what cannot run fails)
	STRICT=$(STRICT) $(PYTHON) -m conformance

conformance-websocket: ## meet all of the Autobahn testsuite (needs Python 2.7 for its server)
	$(PYTHON) -m conformance.websocket

capture: $(stamp) ## make transcripts again (NAMES="stdio/everything tasks", or NAMES=--all)
	$(python) -m conformance.capture $(NAMES)

hosts: $(stamp) ## the blocking twin in notebooks, web servers and workers; servers in memory; agents
	$(python) -m conformance.peers install hosts mcp1 mcp2 fastmcp agents
	$(python) -m conformance.hosts

bench: $(stamp) ## measure against the asyncio floor and the clients that are installed
	$(python) -m tests.tools.bench

sabotage: $(stamp) ## put faults into a copy, and see that tests and replay notice (NAMES="auth")
	$(python) -m tests.tools.saboteur $(NAMES)

SECONDS ?= 300
SEED ?=

REFRESHES ?= 10000

soak: $(stamp) ## random calls, kills, reconnects and logins (SECONDS=300, REFRESHES=10000, SEED=a number)
	$(python) -m tests.tools.soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
	$(python) -m tests.tools.soak.logins --refreshes $(REFRESHES) $(if $(SEED),--seed $(SEED))

fuzz: SECONDS = 60
fuzz: .venv-fuzz/.installed ## look for inputs that break a parser (SECONDS=60 for each, TARGETS="sse uri")
	.venv-fuzz/bin/python -m tests.tools.fuzz --seconds $(SECONDS) $(TARGETS)

# The fuzzer has wheels for some Pythons only; the first of them that is on this machine will do.
.venv-fuzz/.installed: tests/tools/fuzz/requirements.txt
	@interpreter=$$($(PYTHON) -m tests.tools.pythons | sed -n 's/^3\.1[234] //p' | head -n 1); \
	test -n "$$interpreter" || { echo "make fuzz needs Python 3.12, 3.13 or 3.14" >&2; exit 1; }; \
	"$$interpreter" -m venv --clear .venv-fuzz
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check -r tests/tools/fuzz/requirements.txt
	touch $@

$(stamp): tests/requirements.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(python) -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@
