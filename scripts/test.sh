#!/bin/sh
# Checks everything, or with `exam` only the exam of real programs, and closes with one line of totals.
set -u
cd "$(dirname "$0")/.." || exit 1
what=${1:-all}
log=target/test-log
mkdir -p "$log"
rm -f "$log"/*
passed=0 failed=0

# Says what is checked, and after it how long it took.
begin() {
  printf '== %s\n' "$1"
  began=$(date +%s)
}

end() {
  printf '   %d s\n' $(($(date +%s) - began))
}

# One named check that passes or fails as a whole.
check() {
  name=$1
  shift
  begin "$name"
  if "$@" >"$log/$name.txt" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    tail -n 60 "$log/$name.txt"
    printf 'FAILED: %s (all of it: %s)\n' "$name" "$log/$name.txt"
  fi
  end
}

# Tests that count themselves; prints what is skipped and what fails. They have to be run with
# --show-output, else what a skipped one says is lost.
tests() {
  name=$1
  shift
  begin "$name"
  out=$log/$name.txt
  "$@" >"$out" 2>&1
  status=$?
  grep -aE '^skipped: |^test .* (FAILED|ignored)$' "$out" | sort -u
  set -- $(awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$out")
  passed=$((passed + $1))
  failed=$((failed + $2))
  if [ $status -ne 0 ]; then
    # A build error or a crash of the test program leaves no count.
    [ "$2" -gt 0 ] || failed=$((failed + 1))
    grep -anE '^error|panicked at|^thread ' "$out" | head -n 60
    tail -n 40 "$out"
    printf 'FAILED: %s (all of it: %s)\n' "$name" "$out"
  fi
  end
}

# The compiler's tests, which lit counts.
lit() {
  out=$log/compiler.txt
  if [ ! -e /usr/lib/llvm-22/lib/cmake/mlir/MLIRConfig.cmake ]; then
    echo "skipped: compiler: no MLIR 22 (make compiler says what it needs)" | tee "$out"
    # Counted as passed and skipped, as a test that did nothing.
    passed=$((passed + 1))
    return
  fi
  begin compiler
  { cmake -G Ninja -S compiler -B target/compiler && cmake --build target/compiler &&
    compiler/test/run target/compiler -j2; } >"$out" 2>&1
  status=$?
  set -- $(awk '/^ +Passed +:/ { p = $3 } /^ +(Failed|Unresolved|Timed Out) +:/ { f += $NF } END { print p + 0, f + 0 }' "$out")
  passed=$((passed + $1))
  failed=$((failed + $2))
  if [ $status -ne 0 ]; then
    # A build error leaves no count.
    [ "$2" -gt 0 ] || failed=$((failed + 1))
    tail -n 60 "$out"
    printf 'FAILED: compiler (all of it: %s)\n' "$out"
  fi
  end
}

if [ "$what" = all ]; then
  # Programs run under what is built with the tests. A release differs in being optimized across crates, which takes as
  # long again as building all of this; the exam by itself is of a release.
  FARSIDE_BIN=$PWD/target/tested/farside
  export FARSIDE_BIN
  check build cargo build --profile tested --workspace --locked
  check plugin make plugin PROFILE=tested
  check format cargo fmt --all -- --check
  check lint cargo clippy --profile tested --workspace --all-targets --locked -- -D warnings
  RUSTDOCFLAGS="-D warnings" check documentation cargo doc --profile tested --workspace --no-deps --locked
  tests unit cargo test --profile tested --workspace --exclude farside-exam --locked --no-fail-fast -- --show-output
  lit
else
  check build cargo build --release --workspace --locked
  check plugin make plugin
fi
tests exam cargo test --profile tested -p farside-exam --locked --no-fail-fast -- --test-threads=1

# libtest knows no skipped tests: they pass, and say by name that they did nothing.
skipped=$(cat "$log"/*.txt | grep -a '^skipped: ' | cut -d: -f2 | sort -u | wc -l)
printf '%d passed, %d failed, %d skipped\n' $((passed - skipped)) "$failed" "$skipped"
[ "$failed" -eq 0 ]
