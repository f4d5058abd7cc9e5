#!/bin/sh
# install-extras.sh FARSIDE MANDIR BASHDIR ZSHDIR FISHDIR: man pages and shell completions, written by
# the command itself so that they cannot disagree with it.
set -eu
farside=$1 man=$2 bash=$3 zsh=$4 fish=$5
"$farside" man "$man"
"$farside" completions bash > "$bash/farside"
"$farside" completions zsh > "$zsh/_farside"
"$farside" completions fish > "$fish/farside.fish"
