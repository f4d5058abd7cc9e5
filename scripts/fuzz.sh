#!/bin/sh
# Fuzzes for FUZZ_SECONDS (default 600) in all: the targets in fuzz/ where cargo-fuzz is installed, and
# the tests of properties, simulations and hints by chance with fresh seeds. A failure prints its seed and stops.
set -eu
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-600}
if cargo +nightly fuzz --version >/dev/null 2>&1; then
  targets=$(cargo +nightly fuzz list)
  share=$((seconds / 2 / $(printf '%s\n' "$targets" | wc -l)))
  for target in $targets; do
    printf '== %s for %d s\n' "$target" "$share"
    cargo +nightly fuzz run "$target" -- -max_total_time="$share"
  done
  seconds=$((seconds / 2))
else
  echo "skipped: targets in fuzz/: no cargo-fuzz; rustup toolchain install nightly && cargo install cargo-fuzz"
fi
export PROPTEST_CASES="${PROPTEST_CASES:-2000}"
cargo test --profile tested --workspace --locked --no-run
cargo build --profile tested --workspace --locked
end=$(($(date +%s) + seconds))
round=0
while [ "$(date +%s)" -lt "$end" ]; do
  round=$((round + 1))
  printf '== round %d\n' "$round"
  # What fails says its seed.
  cargo test --profile tested --workspace --exclude farside-exam --locked -q
  FARSIDE_BIN=$PWD/target/tested/farside FARSIDE_WILD_SEEDS=20 \
    cargo test --profile tested -p farside-exam --test hints --locked -q wild
done
printf '%d rounds passed\n' "$round"
