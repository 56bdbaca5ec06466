// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The factories that the suites ask for, for a user's strategy: docs/strategies.md.
#include "local_sgd_trained.h"

// [factories]
#include <belfry/testing/sim_factory.h>
#include <belfry/testing/strategy_factory.h>

const belfry::testing::StrategyFactory& belfry::testing::strategy_factory() {
  static const StrategyOf<TrainedSgd> factory("local SGD", {}, &TrainedSgd::mistake);
  return factory;
}

const belfry::testing::BackendFactory& belfry::testing::backend_factory() {
  static const SimFactory factory;
  return factory;
}
// [factories]
