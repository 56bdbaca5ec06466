#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Replays the failing case of docs/debugging.md in gdb, with the commands of the page.
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

command -v gdb >/dev/null || skip "gdb is not installed"
token="$("$program" | sed -n 's/^seed [0-9]*: //p')"
said="$(gdb --quiet --batch --command="$folder/debugging.gdb" --args "$program" "$token" 2>&1)"
! grep -Eq 'Operation not permitted.*ptrace|ptrace.*Operation not permitted' <<<"$said" ||
  skip "this machine allows no tracing of processes"

# Replica 0 is at the breakpoint. Replica 1 wrote before, and waits in its all_reduce.
failed=0
for pattern in 'hit Breakpoint 1' 'last = loss;' '^\$1 = 1$' 'debugging.cpp:28'; do
  grep -Eq "$pattern" <<<"$said" || { echo "FAILED: gdb does not say '$pattern'"; failed=1; }
done
[[ $failed -eq 0 ]] || echo "$said"
exit "$failed"
