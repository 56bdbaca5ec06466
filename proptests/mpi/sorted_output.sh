#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# sorted_output.sh <file> <command...>: the command succeeds, and prints the lines of the file in
# any order.
set -euo pipefail
expected="$1"
shift
output="$("$@")"
diff <(sort "$expected") <(sort <<<"$output")
