#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Runs the commands on dumps of flight recorders, and the programs made of them.
# usage: dump_commands_test.sh <the tool> <programs of the hangs left_out, order and size>
set -uo pipefail
tool="$1"
shift
cd "${BASH_SOURCE[0]%/*}/testdata" || exit 1
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
failed=0

# expect <exit code> <pattern of the output> <command...>
expect() {
  local code="$1" pattern="$2" got
  shift 2
  "$@" >"$folder/out" 2>&1 </dev/null
  got=$?
  if [[ $got -ne $code ]] || ! grep -Eq -- "$pattern" "$folder/out"; then
    echo "FAILED: $* gave $got, not $code with '$pattern':"
    cat "$folder/out"
    failed=1
  fi
}

"$tool" explain left_out/rank{0,1,2}.json >"$folder/out"
[[ $? -eq 1 ]] || failed=1
diff -u left_out.expected "$folder/out" || failed=1
expect 1 'call 2 of group 0 .*: rank 2 makes another call' "$tool" explain size/*.json
expect 1 'circle of waits over call 2 of group 0 .* and call 1 of group 1' \
  "$tool" explain order/*.json
expect 1 'call 3 .*: the others wait for rank 1, without a dump' \
  "$tool" explain left_out/rank{0,2}.json
# A dump as PyTorch pickles it.
for rank in 0 1 2; do
  python3 -c 'import json, pickle, sys
pickle.dump(json.load(open(sys.argv[1])), open(sys.argv[2], "wb"), 2)' \
    left_out/rank$rank.json "$folder/rank$rank.pickle" || failed=1
done
"$tool" explain "$folder"/rank{0,1,2}.pickle >"$folder/out"
diff -u left_out.expected "$folder/out" || failed=1
for hang in left_out order size; do
  "$tool" explain --json $hang/*.json >"$folder/out"
  python3 -c 'import json, sys; assert json.load(sys.stdin)["verdict"] == "named"' \
    <"$folder/out" || failed=1
done

# Where the replicas of the simulator wait, by hand from the dumps.
left_out="$1" order="$2" size="$3"
"$left_out" >"$folder/out"
diff -u left_out_program.expected "$folder/out" || failed=1
expect 1 'replica 0 .* "group 0 \(default_pg\) 2: broadcast .*"' "$order"
expect 1 'replica 1 .* "group 1 \(gradients\) 1: all_reduce \(sum\) of 8 Float"' "$order"
expect 1 'replicas 0,1,3 .* 2: _allgather_base of 16 BFloat16"' "$size"
expect 1 'replica 2 .* 2: _allgather_base of 12 BFloat16"' "$size"

cp left_out/rank0.json "$folder/dump.json"
head -c 900 left_out/rank0.json >"$folder/torn0.json"
sed 's/"state": "scheduled"/"state": "lost"/' left_out/rank0.json >"$folder/state0.json"
sed 's/"2.10"/"3.0"/' left_out/rank0.json >"$folder/version0.json"
printf '\x80\x02cos\nsystem\n.' >"$folder/call0.pickle"
trace=../../trace/testdata/sum.jsonl
expect 2 'the rank of the dump is not known' "$tool" explain "$folder/dump.json"
expect 2 'torn0.json: byte 901: expected a dump' "$tool" explain "$folder/torn0.json"
expect 2 'an operation that is not one of plain data' "$tool" explain "$folder/call0.pickle"
expect 2 'entry 0: expected scheduled, started or completed' "$tool" explain "$folder/state0.json"
expect 2 "version 2, not '3.0'" "$tool" explain "$folder/version0.json"
expect 2 'are both of rank 1' "$tool" explain left_out/rank1.json left_out/rank1.json
expect 2 'sum.jsonl is no dump' "$tool" explain left_out/rank1.json $trace
expect 2 'no dump of a flight recorder|expected' "$tool" export --program $trace -o "$folder/x.cpp"
expect 3 'cannot read none.json' "$tool" export --program none.json -o "$folder/x.cpp"
exit "$failed"
