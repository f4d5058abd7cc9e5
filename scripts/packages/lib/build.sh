# shellcheck shell=sh disable=SC2154 # variables of packages.sh
# Builds a package in several ways and runs its suite.

# What a build compiles with, as arguments of the compiler.
flags_of() {
  case $2 in
    mlir) echo "-ffarside-passes=farside-structure,farside-unstructure" ;;
    profile) echo -ffarside-profile ;;
    sections) echo "-fsections=$here/$1.toml" ;;
  esac
}

# Programs that stand for the compilers, and note the processor time that these take.
write_compilers() {
  directory=$place/$1/$2.bin
  mkdir -p "$directory"
  for language in cc c++; do
    compiler=${farside_cc%cc}$language
    [ "$2" != clang ] || compiler=$clang$(expr "$language" : 'c\(++\)' || :)
    cat >"$directory/$language" <<END
#!/bin/sh
'$compiler' $(flags_of "$1" "$2") "\$@"
status=\$?
times >>'$place/$1/$2.times'
exit \$status
END
    chmod 755 "$directory/$language"
  done
}

# Seconds of processor time that compilers took.
seconds_of() {
  tr ' ' '\n' <"$1" | sed 's/s$//' | awk -Fm 'NF == 2 { total += 60 * $1 + $2 } END { printf "%.2f", total }'
}

# Builds once. The source is a copy each time: some builds write into it.
build() {
  log=$place/$1/$2.build.log
  rm -rf "${place:?}/$1/$2"
  cp -a "$place/$1/source" "$place/$1/$2"
  : >"$place/$1/$2.times"
  say "$1: building: $2"
  (cd "$place/$1/$2" && CC=$place/$1/$2.bin/cc CXX=$place/$1/$2.bin/c++ CFLAGS=-O2 CXXFLAGS=-O2 \
    "$here/lib/suite.sh" "$here/$1.package" build) >"$log" 2>&1 </dev/null || return 1
  printf '%s\t%s\t%s\n' "$1" "$2" "$(seconds_of "$place/$1/$2.times")" >>"$results/times.tsv"
}

# How much memory is local when a suite runs on far memory. What cannot be run so says nothing.
local_of() { sed -n 's/^local=//p' "$here/$1.package"; }

# Whether all that was to be in sections was paged: it is no test of sections then.
lacks_sections() {
  case $1 in sections@far) ! grep -qa 'sections: [1-9]' "$2" ;; *) false ;; esac
}

# Runs the suite of a build, and notes how it went.
check() {
  build=${2%@far}
  log=$place/$1/$2.check.log
  say "$1: testing: $2"
  set -- "$1" "$2" "$here/lib/suite.sh" "$here/$1.package" check
  case $2 in *@far)
    set -- "$1" "$2" "$farside" run --local "$(local_of "$1")" -- "$3" "$4" "$5" ;;
  esac
  name=$1 run=$2
  shift 2
  (cd "$place/$name/$build" && CC=$place/$name/$build.bin/cc CXX=$place/$name/$build.bin/c++ CFLAGS=-O2 CXXFLAGS=-O2 \
    "$@") >"$log" 2>&1 </dev/null
  status=$?
  if lacks_sections "$run" "$log"; then status=sections; fi
  note "$name" "$run" "$status" "$("$here/lib/suite.sh" "$here/$name.package" count "$log")"
}

# The builds that runs are of, the one to compare with first.
builds_of() {
  echo clang
  for run in $runs; do
    case $run in sections*) [ -f "$here/$1.toml" ] || continue ;; esac
    echo "${run%@far}"
  done | awk '$0 != "clang" && !seen[$0]++'
}

# All of one package.
examine() {
  name=$1 failed=''
  builds=$(builds_of "$name")
  for turn in $(seq "$repeat"); do
    for build in $builds; do
      case " $failed " in *" $build "*) continue ;; esac
      [ "$turn" -gt 1 ] || write_compilers "$name" "$build"
      build "$name" "$build" || failed="$failed $build"
    done
  done
  for run in clang $runs; do
    build=${run%@far}
    printf '%s\n' "$builds" | grep -qx "$build" || continue
    case " $failed " in *" $build "*) note "$name" "$run" build '0 0'; continue ;; esac
    case $run in *@far) if [ -z "$farside" ] || [ -z "$(local_of "$name")" ]; then continue; fi ;; esac
    check "$name" "$run"
  done
}
