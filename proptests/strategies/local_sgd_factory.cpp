// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on the example of a user's strategy.
#include "belfry/testing/strategy_factory.h"
#include "local_sgd_trained.h"

namespace belfry::testing {

const StrategyFactory& strategy_factory() {
  static const StrategyOf<TrainedSgd> factory("local SGD", {}, &TrainedSgd::mistake);
  return factory;
}

}  // namespace belfry::testing
