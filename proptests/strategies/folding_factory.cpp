// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on a strategy that reduces without collectives, with a factory that says so.
#include "belfry/testing/strategy_factory.h"
#include "strategies/folding_strategy.h"

namespace belfry::testing {

const StrategyFactory& strategy_factory() {
  static const StrategyOf<FoldingStrategy> factory("folding", {.uses_collectives = false});
  return factory;
}

}  // namespace belfry::testing
