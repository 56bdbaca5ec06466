// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/watch_compiler.h"

#include <string>
#include <vector>

namespace belfry::sim {

/// The kinds of accesses that are missed without a note in code of `compiler`: the table of
/// docs/watching.md in short, kinds of frequent code first.
std::vector<std::string> missed_accesses(detail::WatchCompiler compiler);

}  // namespace belfry::sim
