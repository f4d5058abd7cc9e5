# Targets a user needs: demo, test, install. `make help` lists them all.

PREFIX  ?= /usr/local
DESTDIR ?=
CARGO   ?= cargo
CC      ?= cc
# rustup puts cargo here without touching the environment of the running shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

bindir = $(DESTDIR)$(PREFIX)/bin
libdir = $(DESTDIR)$(PREFIX)/lib/farside
incdir = $(DESTDIR)$(PREFIX)/include
pcdir = $(DESTDIR)$(PREFIX)/share/pkgconfig
cmakedir = $(DESTDIR)$(PREFIX)/share/cmake/farside
mandir = $(DESTDIR)$(PREFIX)/share/man/man1
docdir = $(DESTDIR)$(PREFIX)/share/doc/farside
bashdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir  = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fishdir = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# The profile of the build that the plugin goes with.
PROFILE ?= release
plugin = target/$(PROFILE)/farside-pagetrace.so

.PHONY: all help build plugin compiler demo test exam exam-packages fuzz fuzz-compiler bench study-eden study-path study-pointers doc built install install-header uninstall clean

all: build

help:
	@echo "make build    release build of the farside command, libfarside.so and the plugin of capture"
	@echo "make compiler farside-cc and farside-c++, for programs compiled for far memory"
	@echo "make demo     set up, build, and run two real programs at 20 % local memory"
	@echo "make test     set up, build, and check everything at reduced size"
	@echo "make exam     the exam of real programs at full size (hours)"
	@echo "make exam-packages  ARGS=: programs of Debian, built with farside-cc, pass their own suites (an hour; needs the network)"
	@echo "make fuzz     every parser and the simulators for FUZZ_SECONDS each"
	@echo "make fuzz-compiler  COUNT=1000 SEED= LEVELS=3: programs made by chance, compiled by clang and by farside-cc, do the same"
	@echo "make bench    the tables of farside bench: mechanisms, paging, analysis, tape, hints, pointers, tracking, compile,"
	@echo "              sections, tune, balance, nodes"
	@echo "make study-eden  Eden's study of fault sites again: docs/studies/eden.md, its table and plots"
	@echo "make study-pointers  CHERI-picking's study of pointers again: docs/studies/cheri-picking.md, its tables and plots"
	@echo "make study-path  PATH's figures again: docs/studies/path.md, its tables and plots"
	@echo "make install  PREFIX=/usr/local DESTDIR="
	@echo "make install-header  only farside.h and what is in farside/, with what pkg-config and CMake need to find it"

build:
	@scripts/setup.sh build
	$(CARGO) build --release --workspace --locked
	@$(MAKE) --no-print-directory plugin

# What QEMU loads for `farside capture`; see capture/README.md.
plugin: $(plugin)

$(plugin): $(wildcard capture/*.[ch])
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -o $@ $(wildcard capture/*.c)

# See docs/compiler.md.
compiler:
	@scripts/setup.sh compiler
	cmake -G Ninja -S compiler -B target/compiler
	cmake --build target/compiler

demo:
	@scripts/setup.sh demo
	$(CARGO) build --release --locked -p farside-cli -p farside-preload
	@target/release/farside bench demo

test:
	@scripts/setup.sh test
	@scripts/test.sh

exam:
	@scripts/setup.sh test
	@FARSIDE_EXAM_FULL=1 scripts/test.sh exam

# See docs/compiler.md.
exam-packages: compiler
	@scripts/setup.sh build
	@scripts/setup.sh packages
	$(CARGO) build --release --locked -p farside-preload -p farside-cli
	@scripts/packages.sh $(ARGS)

fuzz:
	@scripts/setup.sh build
	@scripts/fuzz.sh

# See docs/compiler.md.
fuzz-compiler: compiler
	@scripts/setup.sh build
	$(CARGO) build --profile tested --locked -p farside-preload -p farside-cli
	compiler/test/fuzz target/compiler --count $(or $(COUNT),1000) $(if $(SEED),--seed $(SEED)) $(if $(LEVELS),--levels $(LEVELS))

bench:
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	target/release/farside bench mechanisms
	target/release/farside bench paging
	target/release/farside bench analysis --python target/bench-python/bin/python
	target/release/farside bench tape
	target/release/farside bench hints
	target/release/farside bench pointers
	target/release/farside bench tracking
	target/release/farside bench compile
	target/release/farside bench sections
	target/release/farside bench tune
	target/release/farside bench balance
	target/release/farside bench nodes

study-path:
	@scripts/setup.sh test
	$(CARGO) build --release --locked -p farside-cli
	@$(MAKE) --no-print-directory plugin
	target/release/farside study path

study-eden:
	@scripts/setup.sh study
	$(CARGO) build --release --locked -p farside-cli -p farside-preload
	target/release/farside study eden

study-pointers:
	@scripts/setup.sh study
	$(CARGO) build --release --locked -p farside-cli -p farside-preload
	target/release/farside study pointers

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# Needs nothing to be built.
install-header:
	install -d $(incdir)/farside $(pcdir) $(cmakedir)
	install -m 644 include/farside.h $(incdir)/farside.h
	install -m 644 include/farside/*.hpp include/farside/*.h $(incdir)/farside
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' packaging/farside.pc.in > $(pcdir)/farside.pc
	install -m 644 packaging/farside-config.cmake $(cmakedir)/farside-config.cmake
	sed 's|@VERSION@|$(VERSION)|' packaging/farside-config-version.cmake.in > $(cmakedir)/farside-config-version.cmake

# Before anything is put anywhere.
built:
	@test -x target/release/farside -a -f target/release/libfarside.so -a -f $(plugin) || \
	  { echo "nothing to install yet: run 'make build' first" >&2; exit 2; }

install: built
	@$(MAKE) --no-print-directory install-header
	install -d $(bindir) $(libdir) $(mandir) $(docdir) $(bashdir) $(zshdir) $(fishdir)
	install -m 755 target/release/farside $(bindir)/farside
	install -m 755 target/release/libfarside.so $(libdir)/libfarside.so
	install -m 755 $(plugin) $(libdir)/farside-pagetrace.so
	@if [ -x target/compiler/bin/farside-cc ]; then \
	  cp -P target/compiler/bin/farside-cc target/compiler/bin/farside-c++ $(bindir) && \
	  install -m 755 target/compiler/lib/farside/*.so target/compiler/lib/farside/farside-translate $(libdir) && \
	  install -m 644 target/compiler/lib/farside/*.bc target/compiler/lib/farside/*.a $(libdir) && \
	  cp -R target/compiler/lib/farside/include $(libdir); \
	else echo "without farside-cc: it is not built ('make compiler')"; fi
	install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE docs/*.md contrib/* $(docdir)
	scripts/install-extras.sh target/release/farside $(mandir) $(bashdir) $(zshdir) $(fishdir)

uninstall:
	rm -f $(bindir)/farside-cc $(bindir)/farside-c++
	rm -f $(bindir)/farside $(mandir)/farside.1 $(mandir)/farside-*.1
	rm -f $(incdir)/farside.h $(pcdir)/farside.pc
	rm -rf $(incdir)/farside
	rm -f $(bashdir)/farside $(zshdir)/_farside $(fishdir)/farside.fish
	rm -rf $(libdir) $(docdir) $(cmakedir)

clean:
	$(CARGO) clean
