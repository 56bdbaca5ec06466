#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# The checks of the sources alone. They need a configured build, but nothing compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/ci/common.sh

configure test
exec ctest --preset test -L lint
