#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the tool as a person would and checks what it returns and on which stream it speaks.
# usage: exit_codes_test.sh <the tool> <real|host-half>
set -uo pipefail
tool="$1"
cuda="$2"
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
failed=0

# expect <exit code> <pattern in what it says> <arguments...>: complaints are on stderr alone.
expect() {
  local code="$1" pattern="$2" got stream
  shift 2
  TERM=xterm "$tool" "$@" >"$folder/out" 2>"$folder/err" </dev/null
  got=$?
  stream=out
  [[ $code -lt 2 ]] || stream=err
  if [[ $got -ne $code ]] || ! grep -Eq -- "$pattern" "$folder/$stream"; then
    echo "FAILED: belfry $* gave $got, not $code, or does not say '$pattern' on std$stream:"
    cat "$folder/out" "$folder/err"
    failed=1
  fi
  if grep -q $'\x1b' "$folder/out" "$folder/err"; then
    echo "FAILED: belfry $* prints escape sequences where there is no terminal"
    failed=1
  fi
}

quick=(demo --epochs 1 --quiet)
line="$(printf '1,%.0s' {1..64})"

expect 0 '^\[ok\]' "${quick[@]}"
expect 0 'digest [0-9a-f]{16}$' "${quick[@]}" --replicas 2 --batch 100 --seed 9
expect 1 '^\[WRONG\] .* differ from one device' "${quick[@]}" --drop-replica 1
expect 0 'Subcommands' --help
expect 0 '--drop-replica' demo --help
expect 0 '^[0-9]+\.[0-9]+\.[0-9]+$' --version

expect 2 'subcommand'
expect 2 'dance' dance
expect 2 '--dance' --dance
expect 2 '--dance' demo --dance
expect 2 'tpu' demo --backend tpu
expect 2 '--replicas' demo --replicas 0
expect 2 '--replicas' demo --replicas 65
expect 2 '--epochs' demo --epochs none
expect 2 '--batch' demo --batch -5
expect 2 '--rate' demo --rate nan
expect 2 '--rate' demo --rate 0
expect 2 '--seed' demo --seed -1
expect 2 '--seed' demo --seed 99999999999999999999999
expect 2 '--hosts' demo --hosts 0
expect 2 'each host needs a replica' demo --hosts 5 --replicas 4
expect 2 'hosts are simulated' demo --hosts 2 --backend cuda
expect_perfetto() {
  expect 0 '[0-9]+ steps in' export --perfetto "$1" -o "$folder/perfetto.json"
  python3 "${BASH_SOURCE[0]%/*}/check_trace.py" "$folder/perfetto.json" || failed=1
}
expect 0 '^\[ok\]' "${quick[@]}" --hosts 3 --replicas 4 --trace "$folder/hosts.jsonl"
expect_perfetto "$folder/hosts.jsonl"
if ! grep -q '"name":"waits for call 1"' "$folder/perfetto.json"; then
  echo "FAILED: the picture has no waits of hosts"
  failed=1
fi
expect 0 'digest [0-9a-f]{16}$' "${quick[@]}" --hosts 2
expect 2 'no replica 2 among 2, which are numbered from 0' demo --replicas 2 --drop-replica 2

expect 0 '^\[ok\]' "${quick[@]}" --replicas 2 --batch 512 --trace "$folder/trace.jsonl"
expect_perfetto "$folder/trace.jsonl"
expect 3 'BF-040 cannot write .*: No such file' "${quick[@]}" --trace "$folder/none/trace.jsonl"

expect 3 'BF-039 cannot read .*: No such file' demo --file "$folder/none.csv"
expect 3 'BF-039 cannot read .*: Is a directory' demo --file "$folder"
: >"$folder/empty.csv"
expect 2 'empty\.csv:1:1: the file has no images' demo --file "$folder/empty.csv"
printf '%s7\n%sx\n' "$line" "$line" >"$folder/word.csv"
expect 2 "word\\.csv:2:129: 'x' is not a number" demo --file "$folder/word.csv"
printf '%s7\n%s7\n' "$line" "$line" >"$folder/two.csv"
expect 2 '2 images are too few' demo --file "$folder/two.csv"
for _ in 1 2 3 4 5 6 7; do printf '%s7\n' "$line"; done >"$folder/seven.csv"
expect 0 '^\[ok\]' "${quick[@]}" --file "$folder/seven.csv" --batch 3

printf '%s\n' '{"belfry_trace":1}' '{"agent":"R0"}' '{"step":0,"kind":"end","agent":"R0"}' \
  >"$folder/run.jsonl"
expect 0 'run\.html: 1 of 1 steps$' view "$folder/run.jsonl"
expect 2 'no step 1 in .*, which has 1 step$' view "$folder/run.jsonl" --from 1
expect 2 'two\.csv:1:1: expected a trace' view "$folder/two.csv"
expect 0 'demo\.html: [0-9]+ steps of .*demo\.jsonl' "${quick[@]}" --page "$folder/demo.html"
expect 2 '--page' demo --hosts 2 --page "$folder/demo.html"
expect 3 'cannot read .*none\.jsonl: No such file' view "$folder/none.jsonl"
expect 2 '--source' view "$folder/run.jsonl" --source "$folder/none"

# Nothing of it is read, so that success would be a lie.
for arguments in --help "${quick[*]}"; do
  # shellcheck disable=SC2086
  "$tool" $arguments >/dev/full 2>"$folder/err"
  got=$?
  if [[ $got -ne 3 ]] || ! grep -q 'standard output could not be written' "$folder/err"; then
    echo "FAILED: belfry $arguments on a full disk gave $got:"
    cat "$folder/err"
    failed=1
  fi
done

if [[ $cuda == host-half ]]; then
  expect 0 'claim +host half' "${quick[@]}" --backend cuda --trace "$folder/cuda.jsonl"
  expect_perfetto "$folder/cuda.jsonl"
elif [[ ! -e /dev/nvidiactl ]]; then
  expect 3 'BF-064' "${quick[@]}" --backend cuda
fi
exit "$failed"
