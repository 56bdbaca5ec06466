// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"

#include <algorithm>
#include <cstdint>

namespace belfry::sim {

/// How many operations of `kind` the log of `backend` has.
inline std::int64_t operation_count(const Backend& backend, OperationKind kind) {
  return std::ranges::count(backend.log().records(), kind, &LogRecord::kind);
}

}  // namespace belfry::sim
