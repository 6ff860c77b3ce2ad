SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

CARGO ?= cargo
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)

# What the tests must find here; a missing one fails. As anyone but root the tests of other users are skipped by name.
NEEDS := bwrap,landlock,firejail,git,python3,node,tsc,cc,tmux,strace,setfattr,unshare
ifeq ($(shell id -u),0)
NEEDS := root,$(NEEDS)
endif
ifeq ($(shell uname -m),x86_64)
NEEDS := $(NEEDS),ia32,io_uring
endif
export CONFINE_REQUIRE ?= $(NEEDS)

# nextest where it is installed: it runs tests of different files at the same time.
TESTS := $(shell if $(CARGO) nextest --version >/dev/null 2>&1; then echo nextest run; else echo test --all-targets; fi)

.PHONY: help build setup test check demo bench install clean

help: ## say what there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

build: ## confine, its stage (both static) and what loads plugins, side by side in target/release
	tests/programs.sh release $(TARGET)/release

setup: ## install what tests and demo need, where it is missing and we may
	@tests/setup.sh

check: ## format, lints, documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items --quiet

test: setup check ## everything that CI runs
	$(CARGO) test --locked --workspace --doc --quiet
	$(CARGO) build --locked --workspace
	tests/installed.sh $(CARGO) $(TESTS) --locked --workspace </dev/null

demo: setup build ## a build and a commit inside, five attempts that fail, and the layers that stopped them
	@demo/run $(TARGET)/release/confine

bench: build ## launch cost next to bare bwrap and to no sandbox at all
	$(CARGO) run --locked --release --package confine-tests --bin bench -- $(TARGET)/release/confine

install: build ## PREFIX=/usr/local: bin/confine, libexec/confine/confine-{stage,plugin-host}
	install -D -m 755 $(TARGET)/release/confine $(DESTDIR)$(PREFIX)/bin/confine
	install -D -m 755 $(TARGET)/release/confine-stage $(DESTDIR)$(PREFIX)/libexec/confine/confine-stage
	install -D -m 755 $(TARGET)/release/confine-plugin-host $(DESTDIR)$(PREFIX)/libexec/confine/confine-plugin-host
	install -D -m 644 plugins/abi/include/confine_egress.h $(DESTDIR)$(PREFIX)/include/confine_egress.h

clean: ## remove what was built
	$(CARGO) clean
