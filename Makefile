# The commands of this project. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DRIVER := target/release/dyno-driver target/release/dyno-powerloss
# Tests that watch or change the whole machine: nothing else runs beside them.
ALONE := $(wildcard tests/engines/test_explain_*.py) tests/engines/test_apply_host.py
# A stall that other programs on the machine hid is provoked once more; what fails twice fails.
alone = $(BIN)/pytest -q $(ALONE)
# Runs as this user keep their caches apart from the checkout's; tests never write bytecode into the tree.
export PYTHONDONTWRITEBYTECODE := 1

## help: list the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | awk -F': ' '{printf "  make %-10s %s\n", $$1, $$2}'

## setup: install what dyno needs (Python environment, driver)
setup: $(VENV)/.ready driver

## demo: tune a private server from nothing and write a report (about 18 minutes on 2 cores)
demo: setup
	@tools/need mkfs.xfs=xfsprogs || echo "make demo: without a volume of its own the plain disk is used"
	@tools/demo

## test: install what the tests need and run all of them
test: setup
	@tools/need --all mkfs.xfs=xfsprogs mkfs.btrfs=btrfs-progs chromium=chromium sysbench=sysbench \
	  /usr/lib/postgresql/15/bin/postgres=postgresql-15 mariadbd=mariadb-server \
	  /usr/lib/mysql/plugin/ha_rocksdb.so=mariadb-plugin-rocksdb mariadb-backup=mariadb-backup \
	  /usr/bin/redis-server=redis-server pgbackrest=pgbackrest eatmydata=eatmydata fusermount3=fuse3 unzip=unzip \
	  /usr/sbin/sshd=openssh-server \
	  /usr/lib/x86_64-linux-gnu/libaio.so.1=libaio1
	@timeout 300 tools/servers >/dev/null || echo "make test: without these servers the tests that need them are skipped"
	cargo test --quiet --workspace
	$(BIN)/pytest -q -n 2 --dist loadfile $(ALONE:%=--ignore=%)
	@$(alone) || { echo "make test: what failed, once more"; $(alone) --last-failed; }

## engines: provoke every cause of stalls that can be provoked here, and renew the table of what was named
engines: setup
	@failed=0; DYNO_ACCEPT=1 $(BIN)/pytest -q -p no:cacheprovider -m "engines or engines_full" tests/engines/test_explain_*.py || failed=$$?; \
	DYNO_ACCEPT=1 $(BIN)/pytest -q tests/unit/explain/test_diagnoses_page.py && exit $$failed

## check: format, lint, types, imports, fast tests (under a minute)
check: setup
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cargo test --quiet --workspace
	$(BIN)/pytest -q -n 2 -m "not slow" tests/unit tests/test_tidy.py

## accept: rewrite the golden files from what the code does now; read the change with git diff
accept: setup
	DYNO_ACCEPT=1 $(BIN)/pytest -q tests/unit

## bench: measure ourselves beside peers (needs an idle machine; see benchmarks/README.md)
bench: setup
	@tools/need --all sysbench=sysbench /usr/lib/postgresql/15/bin/pgbench=postgresql-15
	$(BIN)/python benchmarks/driver.py

## wheel: build a wheel that carries the driver and the disk that forgets
wheel: setup
	@mkdir -p src/dbdyno/_bin && cp $(DRIVER) src/dbdyno/_bin/
	.tools/bin/uv build --wheel --quiet --out-dir dist && ls dist

## lock: renew requirements.lock from pyproject.toml
lock: .tools/bin/uv
	.tools/bin/uv pip compile -q pyproject.toml --all-extras --group dev --generate-hashes --no-emit-index-url \
	  --python-version 3.11 -o requirements.lock

## clean: remove what was built here (environment, driver, demo)
clean:
	@[ ! -x $(BIN)/dyno ] || DYNO_HOME=$(CURDIR)/demo $(BIN)/dyno sandbox rm --all --force || true
	rm -rf $(VENV) .tools target demo dist src/dbdyno/_bin

driver:
	@command -v cargo >/dev/null || { echo "make: cargo is missing; install Rust (rustup, or your distribution's cargo >= 1.85)"; exit 2; }
	cargo build --release --quiet --locked

.tools/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "make: python3 >= 3.11 is missing (found: $$($(PYTHON) --version 2>&1)); set PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || tools/need --all --force python3-venv
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.ready: requirements.lock pyproject.toml | .tools/bin/uv
	.tools/bin/uv venv --quiet --allow-existing --python $$($(PYTHON) -c 'import sys; print(sys.executable)') $(VENV)
	.tools/bin/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	.tools/bin/uv pip install --quiet --no-deps --python $(BIN)/python --editable .
	@touch $@

.PHONY: help setup demo test engines check accept bench wheel lock clean driver
