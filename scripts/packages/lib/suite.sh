#!/bin/sh
# One step of a package, in the directory that it is built in: suite.sh FILE.package build|check, or count LOG.
set -u
package=$1 step=$2
shift 2

# A part of a suite that tells nothing but whether it failed: step NAME COMMAND...
step() {
  name=$1
  shift
  echo "== $name"
  if "$@"; then echo "PASS: $name"; else echo "FAIL: $name"; all=1; fi
}

# How many tests passed and how many failed, by the log of a suite. Lines that automake prints, too.
count() {
  awk '/^PASS: / { p++ } /^FAIL: / { f++ } END { print p + 0, f + 0 }' "$1"
}

all=0
# shellcheck source=/dev/null
. "$package"
case $step in
  build) set -e; build ;;
  check) check && exit "$all" ;;
  count) count "$1" ;;
esac
