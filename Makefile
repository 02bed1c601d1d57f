# Roost. `make run` starts the host, `make test` runs every check. Both set up what is missing first.

# Our tools go before the machine's; the toolchain is found even where no login shell has run.
export PATH := $(CURDIR)/.tools/bin:$(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help run test bench web local-model setup fmt clean

help:
	@echo "make run    build and start the host; ARGS=\"--port 0\" is passed on to 'roost up'"
	@echo "make test   every check, as CI runs them"
	@echo "            one test: scripts/with-postgres.sh cargo nextest run -E 'test(NAME)'"
	@echo "make bench  measure starts, calls, memory, and the page in a browser"
	@echo "make web    build the web UI into web/dist; the next build of the host embeds it"
	@echo "make local-model  build the program that runs local models (cmake, clang, some minutes)"
	@echo "make setup  fetch the tools that the tests need into .tools/"
	@echo "make fmt    format the Rust code"
	@echo "make clean  remove what was built and fetched"

run:
	@scripts/setup.sh run
	@exec scripts/run.sh $(ARGS)

test: setup
	@cargo xtask ci

bench: setup
	@scripts/web.sh
	@cargo build --release --package roost-cli --package roost-tests --bins
	@scripts/with-postgres.sh $${CARGO_TARGET_DIR:-target}/release/bench $(ARGS)
	@ROOST_PROFILE=release node --test tests/browser/numbers.spec.mjs

web:
	@scripts/web.sh

# Beside the host's program, where it is looked for first.
local-model:
	@cargo build --release --locked --manifest-path local-model/Cargo.toml --target-dir $${CARGO_TARGET_DIR:-target}/local-model
	@mkdir -p $${CARGO_TARGET_DIR:-target}/release $${CARGO_TARGET_DIR:-target}/debug
	@for profile in release debug; do \
		cp $${CARGO_TARGET_DIR:-target}/local-model/release/roost-local-model $${CARGO_TARGET_DIR:-target}/$$profile/; \
	done

setup:
	@scripts/setup.sh test

fmt:
	@cargo fmt --all

clean:
	@cargo clean
	@rm -rf .tools web/node_modules tests/browser/node_modules
	@find web/dist -mindepth 1 ! -name .gitignore -delete
