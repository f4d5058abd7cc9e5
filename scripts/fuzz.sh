#!/bin/sh
# Runs the property tests and the pager's simulator over and over with fresh seeds, for
# FUZZ_SECONDS (default 600) in all. A failure prints its seed and stops.
set -eu
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-600}
export PROPTEST_CASES="${PROPTEST_CASES:-20000}"
end=$(($(date +%s) + seconds))
round=0
cargo test --release --workspace --exclude farside-exam --locked --no-run
while [ "$(date +%s)" -lt "$end" ]; do
  round=$((round + 1))
  FARSIDE_SEED=$(od -An -N8 -tu8 /dev/urandom | tr -d ' ')
  export FARSIDE_SEED
  printf '== round %d, FARSIDE_SEED=%s\n' "$round" "$FARSIDE_SEED"
  timeout "$((end - $(date +%s) + 60))" \
    cargo test --release --workspace --exclude farside-exam --locked -q -- prop fuzz simulat || {
    printf 'round %d failed; again with FARSIDE_SEED=%s make fuzz\n' "$round" "$FARSIDE_SEED" >&2
    exit 1
  }
done
printf '%d rounds passed\n' "$round"
