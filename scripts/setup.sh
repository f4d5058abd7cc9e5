#!/bin/sh
# Installs what a purpose needs: setup.sh build|demo|test|bench|study|compiler|packages. Says what it installs and why, does nothing
# when everything is there.
set -eu

purpose=${1:-build}
least_rust=1.89

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# package<TAB>a program or file that shows it is there<TAB>why
build_packages="\
gcc	gcc	links the programs and builds the allocator
libc6-dev	/usr/include/stdlib.h	the C library's headers
make	make	builds the allocator
ca-certificates	/etc/ssl/certs/ca-certificates.crt	lets cargo fetch the dependencies"

demo_packages="\
python3-numpy	/usr/lib/python3/dist-packages/numpy/__init__.py	the second program of the demo"

test_packages="\
g++	g++	compiles the exam's C++ programs, and is one of the examined programs
xz-utils	xz	examined program
perl	perl	examined program
redis-server	redis-server	examined program
redis-tools	redis-benchmark	loads redis
memcached	memcached	examined program
sqlite3	sqlite3	examined program
default-jdk-headless	javac	examined program
nodejs	node	examined program
git	git	examined program
patch	patch	follows the steps of a guide
qemu-user	qemu-x86_64	runs the programs whose memory accesses are captured
golang-go	go	builds the Go program that runs unmanaged
iproute2	ip	cuts machines of the exam off from one another
libboost-fiber-dev	/usr/include/boost/fiber/all.hpp	switches between the tasks of an examined example
libsnappy-dev	/usr/include/snappy.h	compresses what another one sends
libssl-dev	/usr/include/openssl/evp.h	encrypts it
pkg-config	pkg-config	finds the header of the examined examples
cmake	cmake	finds it another way
libucx0	/usr/lib/x86_64-linux-gnu/libucp.so.0	carries pages to memory nodes
libucx-dev	/usr/include/ucp/api/ucp.h	what the calls of UCX are held against"

bench_packages="\
qemu-user	qemu-x86_64	runs the programs whose memory accesses are captured
valgrind	valgrind	the other way to capture them
python3-venv	/usr/lib/python3.11/ensurepip/__init__.py	holds libCacheSim, the other simulator
xz-utils	xz	captured program
perl	perl	captured program
g++	g++	compiles the recorded programs
libboost-fiber-dev	/usr/include/boost/fiber/all.hpp	switches between the tasks of a hinted program
libsnappy-dev	/usr/include/snappy.h	compresses what another one sends
libssl-dev	/usr/include/openssl/evp.h	encrypts it
patch	patch	puts suggested hints into hinted programs
libeigen3-dev	/usr/include/eigen3/Eigen/Core	the library that they compute with
libucx0	/usr/lib/x86_64-linux-gnu/libucp.so.0	carries pages to memory nodes
libopenblas0-pthread	/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3	the one that numpy computes with"

# One release of LLVM; another one's libmlir-*-dev would be removed.
compiler_packages="\
cmake	cmake	configures the compiler
ninja-build	ninja	builds it
clang-22	/usr/lib/llvm-22/bin/clang	compiles the compiler, and reads programs for it
lld-22	/usr/lib/llvm-22/bin/lld	links what is optimized as a whole
llvm-22-dev	/usr/lib/llvm-22/lib/cmake/llvm/LLVMConfig.cmake	what the compiler is made of
libmlir-22-dev	/usr/lib/llvm-22/lib/cmake/mlir/MLIRConfig.cmake	what the compiler is made of
mlir-22-tools	/usr/lib/llvm-22/bin/mlir-tblgen	makes its dialects
libtomlplusplus-dev	/usr/include/toml++/toml.h	reads section files
llvm-22-tools	/usr/lib/llvm-22/bin/FileCheck	checks what it makes
python3	python3	runs its tests"

study_packages="\
zstd	zstd	studied program
mawk	mawk	studied program
jq	jq	studied program"

# What the packages of make exam-packages are built and tested with.
packages_packages="\
dpkg-dev	dpkg-source	unpacks Debian's sources
make	make	builds packages
cmake	cmake	builds packages
autoconf	autoreconf	makes configure scripts
automake	automake	makes configure scripts
libtool	libtoolize	links libraries of packages
libtool-bin	libtool	links lua
bison	bison	makes parsers of jq
flex	flex	makes parsers of jq
libonig-dev	/usr/include/oniguruma.h	what jq matches with
tcl-dev	/usr/lib/tcl8.6/tclConfig.sh	runs the suites of sqlite and redis
python3	python3	prints results as JSON"

# libCacheSim for farside bench analysis, in a place of its own.
bench_python=target/bench-python
libcachesim=0.3.5

wanted=$build_packages
case $purpose in
  build) ;;
  demo) wanted="$wanted
$demo_packages" ;;
  test) wanted="$wanted
$demo_packages
$test_packages" ;;
  bench) wanted="$wanted
$demo_packages
$bench_packages" ;;
  study) wanted="$wanted
$demo_packages
$test_packages
$study_packages" ;;
  compiler) wanted=$compiler_packages ;;
  packages) wanted="$compiler_packages
$packages_packages" ;;
  *) fail "unknown purpose '$purpose': build, demo, test, bench, study, compiler or packages" ;;
esac

there() {
  case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

tab=$(printf '\t')
missing=$(printf '%s\n' "$wanted" | while IFS="$tab" read -r package proof why; do
  there "$proof" || printf '%s\t%s\n' "$package" "$why"
done)

# Debian starts a service when its package is installed; the exam wants the programs, not the services.
hold_services() {
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT INT TERM
  fi
}

install_packages() {
  command -v apt-get >/dev/null 2>&1 || fail "no apt-get here; install by hand: $1"
  [ "$(id -u)" = 0 ] || fail "not root; run as root: apt-get install $1"
  hold_services
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || fail "apt-get update failed; is the network there?"
  # shellcheck disable=SC2086 # a list of packages
  apt-get install -y -qq --no-install-recommends $1 >/dev/null ||
    fail "apt-get install $1 failed; its messages are above"
  for service in redis-server memcached; do
    case " $1 " in *" $service "*)
      systemctl disable "$service" >/dev/null 2>&1 || true ;;
    esac
  done
}

if [ -n "$missing" ]; then
  printf '%s\n' "$missing" | while IFS="$tab" read -r package why; do
    say "installing $package: $why"
  done
  install_packages "$(printf '%s\n' "$missing" | cut -f1 | tr '\n' ' ')"
fi

# The compiler is C++ alone.
case $purpose in compiler | packages) exit 0 ;; esac

# Where there is no such LLVM, the tests of the compiler are skipped.
if [ "$purpose" = test ]; then
  "$0" compiler || say "the compiler cannot be built here; its tests will be skipped"
fi

PATH=$PATH:${HOME:-/root}/.cargo/bin

new_enough() {
  version=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
  [ -n "$version" ] &&
    [ "$(printf '%s\n%s\n' "$least_rust" "$version" | sort -V | head -n1)" = "$least_rust" ]
}

if ! new_enough; then
  if ! command -v rustup >/dev/null 2>&1; then
    command -v curl >/dev/null 2>&1 || {
      say "installing curl: fetches the Rust installer"
      install_packages curl
    }
    say "installing Rust (rustup, minimal profile): Debian's is older than $least_rust"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
      sh -s -- -y -q --profile minimal --no-modify-path ||
      fail "rustup failed; install Rust $least_rust or newer by hand and run this again"
  else
    say "updating Rust: older than $least_rust"
    rustup update stable || fail "rustup update failed; see above"
  fi
  new_enough || fail "cargo is still older than $least_rust: $(cargo --version 2>&1)"
fi

if [ "$purpose" = bench ] && ! "$bench_python/bin/python" -c 'import libcachesim' 2>/dev/null; then
  say "installing libcachesim $libcachesim in $bench_python: the other simulator"
  mkdir -p target
  { /usr/bin/python3 -m venv "$bench_python" &&
    "$bench_python/bin/pip" install -q "libcachesim==$libcachesim"; } ||
    say "no libcachesim: farside bench analysis leaves out the rows beside it"
fi

if [ "$purpose" = test ]; then
  for component in rustfmt clippy; do
    case $component in rustfmt) tool=cargo-fmt ;; clippy) tool=cargo-clippy ;; esac
    if ! "$tool" --version >/dev/null 2>&1; then
      say "installing $component: make test checks with it"
      rustup component add "$component" || fail "no $component, and no rustup to add it"
    fi
  done
fi
