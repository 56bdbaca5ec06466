#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Tests the commands `replicas` and `replica` of gdb over an installed belfry, with programs of -O0
# and -O2: on fibers, on threads, in a run within a merge, and in a core file. If a class or member
# that belfry_gdb.py reads has a new name, gdb names the old one.
# usage: gdb_test.sh PREFIX COMPILER FOLDER suspended.cpp
set -euo pipefail
prefix="$1" compiler="$2" folder="$3" program="$4"
here="$(dirname "$program")"

skip() {
  echo "SKIPPED: $1"
  exit 77
}
for tool in gdb pkg-config; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
PKG_CONFIG_PATH="$(dirname "$(find "$prefix" -name belfry.pc)")"
export PKG_CONFIG_PATH
script="$(find "$prefix" -name belfry_gdb.py)"
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

fault() {
  printf 'FAILED: %s: %s\n%s\n' "$binary" "$1" "$said"
  exit 1
}

# debug <option of gdb>...: sets `said` to the words of gdb with the commands loaded.
debug() {
  said="$(gdb --quiet --nx --batch -ex "source $script" "$@" 2>&1)" || true
  ! grep -Eq 'Operation not permitted.*ptrace|ptrace.*Operation not permitted' <<<"$said" ||
    skip "this machine allows no tracing of processes"
}
# stop <argument of the program> <command>...: the words of gdb at replica 2's loop.
stop() {
  local argument="$1" commands=()
  shift
  for command in "$@"; do commands+=(-ex "$command"); done
  debug -ex 'break look_again' -ex run "${commands[@]}" --args "$binary" "$argument"
}
# line_of <text>: the number of the only line of the program with this text.
line_of() { grep -nF "$1" "$program" | cut -d: -f1; }
# expect <words> ...: gdb says a line with these words, which stand for any blanks between them.
expect() {
  for line in "$@"; do
    grep -Eq "^ *${line// / +}\$" <<<"$said" || fault "gdb does not say '$line'"
  done
}
# expect_page: the rows of the page, which are those of every run of `train`.
expect_page() {
  local rows
  rows="$(grep -E '^(run|  replica) ' <<<"$said")" || true
  diff "$here/replicas.expected" - <<<"${rows//threads/fibers}" || fault "other rows than the page"
}

# examine <core file>: the core file has the rows of the page, and the stack of replica 1.
examine() {
  debug -ex replicas -ex 'replica 1 backtrace' "$binary" "$1"
  expect_page
  grep -Eq "^#[0-9]+ .*share \(.*suspended.cpp:$merge\$" <<<"$said" || fault "no frame in $1"
}
cat >without_guards.gdb <<'END'
set confirm off
break belfry::detail::StackPool::guard
commands
silent
return
continue
end
END

merge="$(line_of 'replica.all_reduce(')"
call="$(line_of 'share(replica, 0.5 + id);')"
for level in -O0 -O2; do
  binary="./suspended$level"
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 "$level" -g "$program" $(pkg-config --cflags --libs belfry) -o "$binary"
  for carrier in fiber baton; do
    stop "$carrier" replicas 'backtrace 1'
    expect_page
    grep -Eq '^#0 .*look_again' <<<"$said" || fault "the selected frame has changed"

    # Replica 1 has passed through `share`, from its call in the replica function.
    stop "$carrier" 'replica 1 backtrace' 'replica 0 backtrace' 'replica 3 backtrace' \
      'replica 9 backtrace' 'replica 1'
    grep -Eq "^#[0-9]+ .*share \(.*suspended.cpp:$merge\$" <<<"$said" || fault "no frame of share"
    expect 'replica 0 has no stack: ended' 'replica 3 has no stack: not begun' \
      'no replica 9 in run of 4 replicas, on (fibers|threads)' 'usage: replica N COMMAND, .*'
    if [[ $level == -O0 ]]; then
      grep -Eq "^#[0-9]+ .*operator\(\).*suspended.cpp:$call\$" <<<"$said" || fault "no caller"
      # The loss of a replica is its number and a half.
      stop "$carrier" 'replica 1 print loss' 'replica 1 up' 'replica 2 print crashes'
      expect '[$]1 = 1[.]5' '[$]2 = false'
    fi
  done

  # With a thread for each replica that run side by side, replica 2 is stopped alone.
  stop concurrent replicas
  expect 'run of 4 replicas, on threads' "replica 2 running suspended.cpp:$(line_of 'if (crashes)')"

  # Replicas that wait for a device have the verb of their call.
  stop fetch replicas
  expect "replica 1 to 3 waiting suspended.cpp:$(line_of 'to_host()') to_host"

  # In a run within a merge, the replicas of the outer run wait in the merge.
  outer="$(line_of 'replica.merge_call(')"
  stop within replicas 'replica 0.3 backtrace'
  expect "replica 0 to 3 waiting suspended.cpp:$outer merge_call #1" \
    "replica 1 waiting suspended.cpp:$merge all_reduce #1 \"loss\""
  grep -Eq "suspended.cpp:$outer" <<<"$said" || fault "no backtrace of the outer run"

  # A core file of gdb, from a run without guard pages, which gdb cannot read on each system.
  debug -x without_guards.gdb -ex 'break look_again' -ex run -ex 'gcore core.gdb' \
    --args "$binary" fiber
  examine core.gdb

  # A core file of the system, unless the settings of the machine send core files elsewhere.
  rm -f core core.[0-9]*
  { (ulimit -c unlimited && "$binary" crash); } >/dev/null 2>&1 || true
  core="$(find . -name core -o -name 'core.[0-9]*')"
  if [[ -n $core ]]; then
    examine "$core"
  else
    echo "no core file of the system: core_pattern is $(</proc/sys/kernel/core_pattern)"
  fi
done
