# shellcheck shell=sh disable=SC2154 # variables of packages.sh
# What came out: lines of package, run, status, tests passed, tests failed; and the table of them.

skip() {
  printf '%s\tskipped\t%s\n' "$1" "$2" >>"$results/suites.tsv"
}

note() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4% *}" "${4#* }" >>"$results/suites.tsv"
}

# Runs of which more failed than with clang.
worse() {
  awk -F'\t' '
    $2 == "clang" && $3 == "build" { print $1 "\t" $2 "\t" $3 }
    $2 == "clang" { status[$1] = $3; passed[$1] = $4; failed[$1] = $5; next }
    $2 == "skipped" { next }
    ($3 != "0" && status[$1] == "0") || $3 == "build" || $3 == "sections" || $5 > failed[$1] { print $1 "\t" $2 "\t" $3 }' "$results/suites.tsv"
}

# Lines of package, build, seconds, ratio to clang; and the geometric means as a package of no name.
ratios() {
  awk -F'\t' '
    !(($1, $2) in least) || $3 < least[$1, $2] { least[$1, $2] = $3 }
    !seen[$1, $2]++ { order[++n] = $1 "\t" $2 }
    END {
      for (i = 1; i <= n; i++) {
        split(order[i], at, "\t")
        seconds = least[at[1], at[2]]; clang = least[at[1], "clang"]
        if (clang == 0 || seconds == 0) continue
        printf "%s\t%s\t%.2f\n", order[i], seconds, seconds / clang
        logs[at[2]] += log(seconds / clang); count[at[2]]++
      }
      for (build in logs) printf "\t%s\t%d\t%.2f\n", build, count[build], exp(logs[build] / count[build])
    }' "$results/times.tsv"
}

version_of() { cat "$place/$1/version" 2>/dev/null || echo -; }

# Tests passed of those that were run; how it ended if that was not well.
cell() {
  awk -F'\t' -v name="$1" -v run="$2" '
    $1 == name && $2 == run {
      found = 1
      if ($3 == "build") print "no build"
      else printf "%d/%d%s\n", $4, $4 + $5, $3 == "0" ? "" : $3 == "sections" ? " paged" : "!"
    }
    END { if (!found) print "-" }' "$results/suites.tsv"
}

ratio() { ratios | awk -F'\t' -v name="$1" -v build="$2" '$1 == name && $2 == build { r = $4 } END { print r ? r : "-" }'; }

print_table() {
  printf '%-9s %-20s %14s' package version clang
  for run in $runs; do printf ' %14s' "$run"; done
  for build in farside mlir sections; do printf ' %9s' "$build"; done
  printf '\n'
  # shellcheck disable=SC2013 # words
  for name in $(cut -f1 "$results/suites.tsv" | awk '!seen[$0]++'); do
    if why=$(awk -F'\t' -v n="$name" '$1 == n && $2 == "skipped" { print $3; f = 1 } END { exit !f }' "$results/suites.tsv"); then
      printf 'skipped: %s: %s\n' "$name" "$why"
      continue
    fi
    printf '%-9s %-20s %14s' "$name" "$(version_of "$name")" "$(cell "$name" clang)"
    for run in $runs; do printf ' %14s' "$(cell "$name" "$run")"; done
    for build in farside mlir sections; do printf ' %9s' "$(ratio "$name" "$build")"; done
    printf '\n'
  done
  printf 'tests passed/run, and processor time to compile / clang -O2: geometric mean'
  for build in farside mlir sections; do printf '  %s %s' "$build" "$(ratio '' "$build")"; done
  printf '\n'
  worse | while IFS="$(printf '\t')" read -r name run status; do
    step=check
    [ "$status" != build ] || { step=build; run=${run%@far}; }
    printf 'FAILED: %s: %s (see %s)\n' "$name" "$run" "$place/$name/$run.$step.log"
  done
  totals
}

# Packages, in one line.
totals() {
  all=$(cut -f1 "$results/suites.tsv" | sort -u | grep -c .)
  skipped=$(awk -F'\t' '$2 == "skipped"' "$results/suites.tsv" | grep -c .)
  failed=$(worse | cut -f1 | sort -u | grep -c .)
  printf '%d passed, %d failed, %d skipped\n' $((all - skipped - failed)) "$failed" "$skipped"
}

print_json() {
  ratios >"$results/ratios.tsv"
  # shellcheck disable=SC2013 # words
  for name in $(cut -f1 "$results/suites.tsv" | awk '!seen[$0]++'); do
    printf '%s\t%s\n' "$name" "$(version_of "$name")"
  done >"$results/versions.tsv"
  python3 "$here/lib/as-json.py" "$results/suites.tsv" "$results/ratios.tsv" "$results/versions.tsv"
}

is_good() { [ -z "$(worse)" ]; }
