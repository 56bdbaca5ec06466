#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Takes the steps of docs/debugging.md in gdb: replays the failing case with the commands of the
# page, stops the same program on fibers, and interrupts the program that stands still.
# usage: debugging_gdb_test.sh <doc_debugging>
set -uo pipefail
program="$1"
folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
own="$(mktemp -d)"
trap 'rm -r "$own"' EXIT
cd "$own" || exit

skip() {
  echo "the step of docs/debugging.md in a debugger did not run: $1"
  exit 77
}

failed=0
fault() {
  echo "FAILED: $1"
  echo "$said"
  failed=1
}

# line_of <text>: the number of the only line of the program with this text.
line_of() { grep -nF "$1" "$folder/debugging.cpp" | cut -d: -f1; }

# debug <argument of the program> <option of gdb>...: sets `said` to the words of gdb.
debug() {
  local argument="$1"
  shift
  said="$(gdb --quiet --batch "$@" --args "$program" "$argument" 2>&1)"
  ! grep -Eq 'Operation not permitted.*ptrace|ptrace.*Operation not permitted' <<<"$said" ||
    skip "this machine allows no tracing of processes"
}

command -v gdb >/dev/null || skip "gdb is not installed"
token="$("$program" | sed -n 's/^seed [0-9]*: //p')"

# Replica 0 is at the breakpoint. Replica 1 wrote before, and waits in its all_reduce. The threads
# have the names of the replicas.
debug "$token" --command="$folder/debugging.gdb"
for pattern in 'hit Breakpoint 1' 'last = loss;' '^\$1 = 1$' 'debugging.cpp:29' '"replica 0"' \
               '"replica 1"'; do
  grep -Eq "$pattern" <<<"$said" || fault "with the baton, gdb does not say '$pattern'"
done

# On fibers the breakpoint holds as well, in the only thread.
debug fiber -ex 'break debugging.cpp:28 if loss == 1' -ex run -ex 'info threads'
grep -q '^Breakpoint 1, ' <<<"$said" || fault "no breakpoint on fibers"
[[ $(grep -Ec '^[* ] +[0-9]+ +Thread ' <<<"$said") -eq 1 ]] || fault "not one thread on fibers"

# The page interrupts with Ctrl-C. Here the interrupt comes while replica 1 is about to take the
# lock; replica 0 has the lock, and waits in the line below.
lock="$(line_of 'std::scoped_lock lock{mutex};')"
debug stall -ex 'set pagination off' -ex "break debugging.cpp:$lock" -ex run -ex continue \
  -ex 'eval "shell kill -s INT %d", (int)getpid()' -ex continue -ex 'thread apply all backtrace'
grep -q 'signal SIGINT' <<<"$said" || fault "no interrupt"
# place_of <replica>: the first line of the program in the backtrace of this thread.
place_of() {
  sed -n "/^Thread [0-9]* (.*\"replica $1\"/,/^\$/p" <<<"$said" |
    grep -Eo 'debugging.cpp:[0-9]+' | head -1
}
[[ $(place_of 0) == debugging.cpp:$((lock + 1)) ]] || fault "replica 0 is at $(place_of 0)"
[[ $(place_of 1) == debugging.cpp:$lock ]] || fault "replica 1 is at $(place_of 1)"
exit "$failed"
