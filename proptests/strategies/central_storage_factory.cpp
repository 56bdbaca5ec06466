// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on CentralStorageStrategy.
#include "strategies/central_factory.h"

namespace belfry::testing {

const StrategyFactory& strategy_factory() {
  static const CentralFactory factory;
  return factory;
}

}  // namespace belfry::testing
