# The front door. Meson does the work; this file sets up what a target needs,
# keeps one build folder per kind, and gives the targets short names.

SETUP := tools/setup
PREFIX ?= /usr/local
SECONDS ?= 60
SCALE ?= 20
BENCH ?=
QUICK ?=
SHORT ?=
# 1: a warning ends a build that is made anew.
WERROR ?=

# How each kind of build is configured.
dev_options :=
release_options := -Doptimization=2 -Ddebug=false -Db_ndebug=true \
                   -Dtests=false --prefix=$(PREFIX)
asan_options := -Db_sanitize=address,undefined -Db_lundef=false
tsan_options := -Db_sanitize=thread -Db_lundef=false
fuzz_options := -Db_sanitize=address,undefined -Db_lundef=false \
                -Dfuzzers=true -Dtests=false
cov_options := -Db_coverage=true -Doptimization=0
# Two compilers see all of the code: gcc in most builds, clang in these. Meson
# finds a compiler cache by itself unless it is told the compiler.
cache := $(shell command -v ccache)
asan_env := CC="$(cache) clang" CXX="$(cache) clang++"
fuzz_env := $(asan_env)

# $(call compile,KIND): make build/KIND unless it is there, and build in it. Meson
# itself notices later changes of its files. What both print goes to a log, which
# is shown if they fail; warnings are shown in any case.
configure = test -f build/$(1)/build.ninja || \
            $($(1)_env) meson setup $($(1)_options) \
                $(if $(WERROR),-Dwerror=true) build/$(1)
compile = echo "building perdure ($(1)) ..." && mkdir -p build && \
          if { $(call configure,$(1)) && $(2) ninja -C build/$(1); } \
              >build/$(1).log 2>&1; \
          then grep -A4 -e 'warning:' build/$(1).log >&2 || :; \
          else cat build/$(1).log >&2; exit 1; fi

c_files := find $(wildcard src include tests examples) -name '*.[ch]'

# A finding of a sanitizer ends the program, so that it cannot be overlooked.
sanitizers := UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
              TSAN_OPTIONS=halt_on_error=1
# Programs are several times slower there, so harnesses search for less.
tenth := PERDURE_SCALE=0.1

.PHONY: build run test bench fuzz asan tsan coverage conformance interop \
        soak format tidy check install clean help

build: ## build the library and the command, build/perdure (default)
	@$(SETUP) build
	@$(call compile,release)
	@cp -f build/release/src/cli/perdure build/perdure

run: build ## show what perdure does, and start a server
	@$(SETUP) run
	@tools/tour build/perdure

test: ## run all tests; the last line is the count
	@$(SETUP) build test
	@tools/setup-ui
	@$(call compile,dev)
	@tools/run-tests build/dev

bench: ## measure; BENCH=name for one, QUICK=1 for each case once
	@$(SETUP) build bench
	@$(if $(filter-out doc% session%,$(BENCH)),,tools/setup-python \
	    tests/interop/requirements.txt build/interop/venv)
	@$(if $(QUICK)$(filter-out store% agent% chat% engine%,$(BENCH)),, \
	    tools/setup-python tests/bench/peers/requirements.txt \
	    build/peers/venv)
	@$(if $(filter-out ui%,$(BENCH)),,tools/setup-ui)
	@$(if $(QUICK)$(filter-out engine%,$(BENCH)),,tools/setup-node \
	    tests/bench/peers/restate build/peers/node)
	@$(call compile,release,meson configure build/release -Dbench=true &&)
	@tools/bench build/release $(if $(BENCH),--bench $(BENCH)) \
	    $(if $(QUICK),--quick)

fuzz: ## fuzz for SECONDS=n in total, shared by the targets
	@$(SETUP) build clang fuzz
	@$(call compile,fuzz)
	@tools/fuzz build/fuzz $(SECONDS)

asan: ## run all tests under AddressSanitizer and UBSan
	@$(SETUP) build clang test
	@$(call compile,asan)
	@$(sanitizers) $(tenth) tools/run-tests --slow 5 --no-broken --no-ui build/asan

tsan: ## run all tests that start threads under ThreadSanitizer
	@$(SETUP) build test
	@$(call compile,tsan)
	@$(sanitizers) $(tenth) tools/run-tests --slow 10 --threads --no-broken \
	    --no-ui build/tsan

coverage: ## lines and branches that the tests reach, with a threshold
	@$(SETUP) build test coverage
	@$(call compile,cov)
	@find build/cov -name '*.gcda' -delete
	@$(tenth) tools/run-tests --slow 5 --no-broken --no-ui build/cov
	@tools/coverage build/cov

conformance: ## which numbered statements have a test; SHORT=1 for a summary
	@test -d build/dev/records || $(MAKE) --no-print-directory test
	@tools/conformance $(if $(SHORT),--short) build/dev/records

interop: ## tests against third-party packages
	@$(SETUP) build test interop
	@tools/setup-python tests/interop/requirements.txt build/interop/venv
	@tools/setup-python tests/interop/requirements-1.21.txt \
	    build/interop/venv-1.21
	@tools/setup-python tests/interop/requirements-1.17.txt \
	    build/interop/venv-1.17
	@tools/setup-python tests/interop/requirements-litellm.txt \
	    build/interop/venv-litellm
	@tools/setup-python tests/interop/requirements-http.txt \
	    build/interop/venv-http tests/interop/sources-http.txt
	@$(call compile,dev)
	@tools/run-tests --suite interop build/dev

soak: ## the long versions of the tests, SCALE=20 times, without a time limit
	@$(SETUP) build clang test bench
	@$(call compile,asan)
	@echo "soak: all tests under ASan at scale $(SCALE) and without a time limit"
	@$(sanitizers) PERDURE_SCALE=$(SCALE) tools/run-tests --slow 0 --no-ui build/asan
	@$(call compile,dev)
	@echo "soak: what counts memory, without ASan, which has its own"
	@PERDURE_SCALE=$(SCALE) tools/run-tests --slow 0 build/dev archive-large
	@PERDURE_SCALE=100 tools/run-tests --slow 0 build/dev engine-soak
	@tools/setup-python tests/bench/peers/requirements.txt build/peers/venv
	@$(call compile,release,meson configure build/release -Dbench=true &&)
	@echo "soak: the same probes on the stores of other libraries and on ours"
	@mkdir -p build/bench
	@build/peers/venv/bin/python tests/bench/peers/probes.py \
	    build/release/tests/bench/store-probe build/bench

format: ## format all C files
	@$(SETUP) check
	@$(c_files) | xargs clang-format -i

tidy: ## clang-tidy over the library and the command
	@$(SETUP) build test tidy
	@$(call compile,dev)
	@find src -name '*.c' | xargs clang-tidy --quiet -p build/dev

check: ## format, layers, source rules, public symbols
	@$(SETUP) build check
	@$(c_files) | xargs clang-format --dry-run -Werror
	@tools/check-layers
	@tools/check-source
	@$(call compile,release)
	@tools/check-symbols build/release/libperdure.so
	@echo "check: format, layers, source, symbols: good"

install: build ## install under PREFIX=/usr/local; DESTDIR is obeyed
	@meson configure build/release --prefix=$(PREFIX) >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C build/release

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
	    Makefile
