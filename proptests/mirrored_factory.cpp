// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on MirroredStrategy.
#include "belfry/strategies.h"
#include "belfry/testing/strategy_factory.h"

namespace belfry::testing {

const StrategyFactory& strategy_factory() {
  static const StrategyOf<MirroredStrategy> factory("mirrored");
  return factory;
}

}  // namespace belfry::testing
