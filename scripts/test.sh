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

# The compiler, and its tests, which lit counts.
compiler() {
  cmake -G Ninja -S compiler -B target/compiler && cmake --build target/compiler -j2
}

has_mlir() {
  [ -e /usr/lib/llvm-22/lib/cmake/mlir/MLIRConfig.cmake ]
}

lit() {
  out=$log/lit.txt
  if ! has_mlir; then
    echo "skipped: compiler: no MLIR 22 (make compiler says what it needs)" | tee "$out"
    # Counted as passed and skipped, as a test that did nothing.
    passed=$((passed + 1))
    return
  fi
  begin lit
  compiler/test/run target/compiler -j2 >"$out" 2>&1
  status=$?
  set -- $(awk '/^ +Passed +:/ { p = $3 } /^ +(Failed|Unresolved|Timed Out) +:/ { f += $NF } END { print p + 0, f + 0 }' "$out")
  passed=$((passed + $1))
  failed=$((failed + $2))
  if [ $status -ne 0 ]; then
    # Tests that could not be run leave no count.
    [ "$2" -gt 0 ] || failed=$((failed + 1))
    tail -n 60 "$out"
    printf 'FAILED: lit (all of it: %s)\n' "$out"
  fi
  end
}

# Names the test programs of the exam. With `--workspace` they are built from the same crates as everything else; alone,
# with fewer features, most of what they are made of would be built anew.
exam_programs() {
  cargo test --profile tested "$@" --locked --no-run --message-format=json-render-diagnostics \
    >"$log/messages.json" || return 1
  sed -n 's|.*/farside-exam/Cargo.toml".*"kind":\["test"\].*"executable":"\([^"]*\)".*|\1|p' \
    "$log/messages.json" | sort >"$log/exam"
  [ -s "$log/exam" ]
}

# Runs those that grep finds with these words, where cargo would run them. That there are none is a failure.
exam() {
  chosen=$(grep "$@" "$log/exam") || return 1
  failures=0
  while read -r program; do
    echo "$program"
    (cd crates/farside-exam && exec "$program" --test-threads=1) </dev/null || failures=$((failures + 1))
  done <<EOF
$chosen
EOF
  [ $failures -eq 0 ]
}

# Runs one of the above beside what follows. What it says is kept until it is joined.
beside() {
  rm -f "$log/beside.counts"
  (
    passed=0 failed=0
    "$@"
    echo "$passed $failed" >"$log/beside.counts"
  ) >"$log/beside.said" 2>&1 &
  beside=$!
}

join() {
  wait "$beside"
  cat "$log/beside.said"
  # One that did not come to its end left no counts.
  counts=$(cat "$log/beside.counts" 2>/dev/null || echo 0 1)
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
}

# Shells keep an interrupt from what runs beside.
trap 'trap - INT; kill 0' INT

# The largest program of the exam. It waits for the pages of its programs, for half of its time.
programs='/exam-[0-9a-f]*$'

if [ "$what" = all ]; then
  # Programs run under what is built with the tests. A release differs in being optimized across crates, which takes as
  # long again as building all of this; the exam by itself is of a release.
  FARSIDE_BIN=$PWD/target/tested/farside
  export FARSIDE_BIN
  # Nothing else would fill the second processor while the last crates are compiled.
  has_mlir && beside check compiler compiler
  check build cargo build --profile tested --workspace --locked
  check plugin make plugin PROFILE=tested
  check format cargo fmt --all -- --check
  check lint cargo clippy --profile tested --workspace --all-targets --locked -- -D warnings
  RUSTDOCFLAGS="-D warnings" check documentation cargo doc --profile tested --workspace --no-deps --locked
  check test-programs exam_programs --workspace
  has_mlir && join
  beside tests exam-programs exam "$programs"
  lit
  tests unit cargo test --profile tested --workspace --exclude farside-exam --locked --no-fail-fast -- --show-output
  # These have deadlines, and count what came too late: nothing is begun beside them.
  tests exam-features exam -v "$programs"
  join
else
  check build cargo build --release --workspace --locked
  check plugin make plugin
  check test-programs exam_programs -p farside-exam
  tests exam-programs exam "$programs"
  tests exam-features exam -v "$programs"
fi

# libtest knows no skipped tests: they pass, and say by name that they did nothing.
skipped=$(cat "$log"/*.txt | grep -a '^skipped: ' | cut -d: -f2 | sort -u | wc -l)
printf '%d passed, %d failed, %d skipped\n' $((passed - skipped)) "$failed" "$skipped"
[ "$failed" -eq 0 ]
