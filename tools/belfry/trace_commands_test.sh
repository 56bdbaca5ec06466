#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the commands on traces as docs/tool.md does, and compares output and exit codes.
# usage: trace_commands_test.sh <the tool>
set -uo pipefail
tool="$1"
here="$(cd "${BASH_SOURCE[0]%/*}" && pwd)"
cd "$here/trace/testdata" || exit 1
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
failed=0

# expect <exit code> <file of the output or pattern on stderr> <arguments...>
expect() {
  local code="$1" what="$2" got
  shift 2
  "$tool" "$@" >"$folder/out" 2>"$folder/err" </dev/null
  got=$?
  if [[ -f $what ]]; then
    diff -u "$what" "$folder/out" || failed=1
  elif ! grep -Eq -- "$what" "$folder/err"; then
    echo "FAILED: belfry $* does not say '$what' on stderr:"
    cat "$folder/err"
    failed=1
  fi
  if [[ $got -ne $code ]]; then
    echo "FAILED: belfry $* gave $got, not $code"
    failed=1
  fi
}

expect 0 explain_sum.expected explain sum.jsonl
expect 1 diff_sum.expected diff sum.jsonl sum_wrong.jsonl
expect 0 explain_error.expected explain-error BF-012
"$tool" export --perfetto sum.jsonl -o "$folder/sum.json" || failed=1
python3 "$here/check_trace.py" "$folder/sum.json" || failed=1
"$tool" explain-error | grep -vE '^BF-[0-9]{3}  k[A-Za-z]+ +[A-Za-z].*[^:]$' && failed=1
for arguments in "explain sum.jsonl" "diff sum.jsonl sum_wrong.jsonl" "explain-error"; do
  # shellcheck disable=SC2086
  "$tool" $arguments --json >"$folder/json"
  python3 -c 'import json, sys; assert json.load(sys.stdin)["belfry_tool"] == 1' \
    <"$folder/json" || failed=1
done

expect 3 'cannot read \.: Is a directory' diff . sum.jsonl
expect 3 'cannot write .*: No such file' export --perfetto sum.jsonl -o "$folder/none/x"
expect 2 'explain_sum\.expected:1:1: expected a trace' explain explain_sum.expected
cp sum.jsonl "$folder/t.jsonl"
expect 3 't\.jsonl is the trace itself' export --perfetto "$folder/t.jsonl" -o "$folder/t.jsonl"
cmp sum.jsonl "$folder/t.jsonl" || failed=1
expect 2 'no step 5000 in sum\.jsonl, which has 19 steps' \
  view sum.jsonl -o "$folder/page.html" --from 5000
[[ ! -e $folder/page.html ]] || { echo "FAILED: view wrote a page without steps"; failed=1; }
for from in -3 x 1.5 ''; do
  expect 2 "'$from' is none: a step is a whole number from 0" \
    view sum.jsonl -o "$folder/page.html" --from "$from"
done
expect 3 'BF-039 cannot read none\.jsonl: No such file' view none.jsonl
expect 3 'BF-039 cannot read none\.jsonl: No such file' explain none.jsonl
expect 2 'sum\.json:1:1: .* a file for ui\.perfetto\.dev; TraceFile' explain "$folder/sum.json"
expect 2 'both of process 0' explain sum.jsonl sum.jsonl
expect 2 'no replica 9 in sum\.jsonl' explain sum.jsonl --replica 9
expect 2 'there is no error or rule BF-1000' explain-error BF-1000
expect 2 'there is no error or rule sem-0' explain-error sem-0
expect 2 'perfetto' export sum.jsonl -o "$folder/x"
expect 2 'FILE' explain
"$tool" explain sum.jsonl >/dev/full 2>"$folder/err"
[[ $? -eq 3 ]] || { echo "FAILED: explain on a full disk"; failed=1; }
exit "$failed"
