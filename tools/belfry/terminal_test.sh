#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the tool in a pseudo-terminal, where it may use colours and a line of progress that changes.
# usage: terminal_test.sh <the tool>; exits with 77 (skipped) where there is no pseudo-terminal.
set -uo pipefail
tool="$1"
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
failed=0

# What is printed by a shell command in a pseudo-terminal.
in_terminal() { script -qec "$1" /dev/null </dev/null; }

if ! command -v script >/dev/null || [[ "$(in_terminal 'test -t 1 && echo yes')" != yes* ]]; then
  echo "SKIPPED: there is no pseudo-terminal, or no script(1) of util-linux to open one"
  exit 77
fi

escape=$'\x1b'
green="${escape}[32m[ok]    ${escape}[0m"
progress="${escape}[Kepoch 1 of 1: 100 %"

# shows|hides <what> <where it is looked for> <case>
shows() { grep -Fq -- "$1" "$2" || wrong "does not show" "$@"; }
hides() { ! grep -Fq -- "$1" "$2" || wrong "shows" "$@"; }
wrong() {
  printf 'FAILED: %s, belfry demo %s %q:\n' "$4" "$1" "$2"
  cat -v "$3"
  failed=1
}

# demo <environment> [redirection]: the terminal's text is left in $terminal, and what was
# redirected in $file.
terminal="$folder/terminal" file="$folder/file"
demo() {
  in_terminal "env -u NO_COLOR $1 '$tool' demo --epochs 1 ${2:-}" >"$terminal"
}

demo TERM=xterm
shows "$green" "$terminal" "on a terminal"
shows "$progress" "$terminal" "on a terminal"

demo "TERM=xterm NO_COLOR=1"
hides "${escape}[32m" "$terminal" "with NO_COLOR=1"
hides "${escape}[1m" "$terminal" "with NO_COLOR=1"
shows "$progress" "$terminal" "with NO_COLOR=1"

demo "TERM=xterm NO_COLOR="
shows "$green" "$terminal" "with an empty NO_COLOR, which asks for nothing"

demo TERM=dumb
shows "[ok]    23 steps" "$terminal" "on a dumb terminal"
hides "$escape" "$terminal" "on a dumb terminal"

demo TERM=xterm ">'$file'"
shows "[ok]    23 steps" "$file" "with its results in a file"
hides "$escape" "$file" "with its results in a file"
shows "$progress" "$terminal" "with its results in a file"

demo TERM=xterm "2>'$file'"
shows "$green" "$terminal" "with its notes in a file"
hides "epoch 1 of 1" "$terminal" "with its notes in a file"
hides "$escape" "$file" "with its notes in a file"
exit "$failed"
