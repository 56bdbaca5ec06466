// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategies.h"
#include "belfry/testing/process_contracts.h"

#include <memory>

namespace belfry::testing {

/// A wrong strategy: the last process has a strategy over the own replicas alone, and takes part in
/// no exchange.
inline ProcessStrategies with_a_process_apart() {
  return {"one apart",
          [](Backend& backend, ProcessGroup& group,
             const StrategyOptions& options) -> std::unique_ptr<Strategy> {
            if (group.rank() + 1 < group.size()) {
              return std::make_unique<MultiWorkerMirroredStrategy>(backend, group, options);
            }
            return std::make_unique<MirroredStrategy>(backend, options);
          }};
}

}  // namespace belfry::testing
