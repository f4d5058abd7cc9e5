# shellcheck shell=sh disable=SC2154 # variables of packages.sh
# Gets Debian's sources. Settings of apt are its own: those of the machine are left alone.

# What is not there and has to be, for any package.
missing_tools() {
  for tool in apt-get apt-cache dpkg-source; do
    command -v $tool >/dev/null || { echo "no $tool here"; return; }
  done
  [ -x "$clang" ] || { echo "no $clang; make compiler installs it"; return; }
  [ -x "$farside_cc" ] || echo "farside-cc is not built; make compiler"
}

# Writes settings by which apt knows of sources.
configure_apt() {
  apt=$place/apt
  mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
  rm -f "$apt/parts"/*
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^ *deb /deb-src /p' "$file" >"$apt/parts/$(basename "$file" .list).list"
  done
  cat >"$apt/apt.conf" <<END
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/parts";
APT::Sandbox::User "root";
END
}

# Reads what sources there are, once.
update_apt() {
  [ ! -f "$place/apt/updated" ] || return 0
  configure_apt
  APT_CONFIG=$place/apt/apt.conf apt-get update -qq >"$place/apt/update.log" 2>&1
  touch "$place/apt/updated"
}

# Puts the newest source that can be had into NAME/source. Says why not if it fails.
fetch() {
  [ ! -d "$place/$1/source" ] || return 0
  say "$1: fetching its source"
  update_apt
  source=$(sed -n 's/^source=//p' "$here/$1.package")
  rm -rf "$place/$1/fetched"
  mkdir -p "$place/$1/fetched"
  versions=$(APT_CONFIG=$place/apt/apt.conf apt-cache showsrc --only-source "$source" 2>/dev/null |
    sed -n 's/^Version: //p' | sort -Vru)
  [ -n "$versions" ] || { echo "apt knows no source of $source (see $place/apt/update.log)"; return 1; }
  # The index may know of a version that is no longer there.
  for version in $versions; do
    if (cd "$place/$1/fetched" && APT_CONFIG=$place/apt/apt.conf \
      apt-get source -qq --only-source "$source=$version") >"$place/$1/fetch.log" 2>&1; then
      printf '%s\n' "$version" >"$place/$1/version"
      mv "$place/$1/fetched"/*/ "$place/$1/source"
      return 0
    fi
  done
  echo "its source cannot be fetched (see $place/$1/fetch.log)"
  return 1
}
