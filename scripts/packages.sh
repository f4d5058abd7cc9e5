#!/bin/sh
# Builds programs from Debian's source packages with clang and with farside-cc, runs their own test suites, and compares
# compile times. See docs/compiler.md.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
here=$root/scripts/packages
place=$root/target/packages
# shellcheck disable=SC2034 # of what is read in below
clang=${LLVM_PREFIX:-/usr/lib/llvm-22}/bin/clang
farside_cc=${FARSIDE_CC:-$root/target/compiler/bin/farside-cc}
# Farside for runs with little local memory, where it is built.
farside=${FARSIDE_BIN:-}
for profile in release tested debug; do
  [ -n "$farside" ] || [ ! -x "target/$profile/farside" ] || farside=$root/target/$profile/farside
done

usage() {
  cat <<'END'
usage: packages.sh [--only NAME]... [--runs LIST] [--repeat N] [--json]

  --only NAME  only this package of scripts/packages; may be given several times
  --runs LIST  builds of which the suites are run, with commas between them; @far: on farside run with little local memory
                 clang         what others are compared with, always done
                 farside       farside-cc without a section file
                 mlir          all functions through MLIR, their control flow structured and back
                 profile       programs that count what they do
                 sections      with the section file of the package, if it has one
               usual: farside,farside@far,mlir,sections,sections@far
  --repeat N   builds each N times, in turns; the least time of each counts
  --json       the results as JSON
END
}

only='' runs=farside,farside@far,mlir,sections,sections@far repeat=1 json=false
while [ $# -gt 0 ]; do
  case $1 in
    --only) only="$only ${2:?--only needs a name}"; shift ;;
    --runs) runs=${2:?--runs needs a list}; shift ;;
    --repeat) repeat=${2:?--repeat needs a number}; shift ;;
    --json) json=true ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
runs=$(printf %s "$runs" | tr , '\n' | grep -vx clang | tr '\n' ' ')
case $repeat in '' | *[!0-9]* | 0) usage >&2; exit 2 ;; esac

names=''
for file in "$here"/*.package; do
  names="$names $(basename "$file" .package)"
done
for name in $only; do
  [ -f "$here/$name.package" ] || { echo "packages: there is no $name; there are$names" >&2; exit 2; }
done
names=${only:-$names}

# Progress is for who watches.
say() { [ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2; }
results=$(mktemp -d) || exit 1
trap 'say ""; rm -rf "$results"' EXIT
trap 'exit 130' INT TERM

# shellcheck source=scripts/packages/lib/fetch.sh
. "$here/lib/fetch.sh"
# shellcheck source=scripts/packages/lib/build.sh
. "$here/lib/build.sh"
# shellcheck source=scripts/packages/lib/results.sh
. "$here/lib/results.sh"

mkdir -p "$place"
: >"$results/suites.tsv"
: >"$results/times.tsv"
needed=$(missing_tools)
for name in $names; do
  if [ -n "$needed" ]; then
    skip "$name" "$needed"
  elif why=$(fetch "$name"); then
    examine "$name"
  else
    skip "$name" "$why"
  fi
done
say ''
if $json; then print_json; else print_table; fi
is_good
