// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on a local SGD strategy whose means leave out a replica.
#include "belfry/testing/strategy_factory.h"
#include "strategies/wrong_sgd.h"

namespace belfry::testing {

const StrategyFactory& strategy_factory() {
  using Sgd = Trained<WrongSgd<SgdMistake::kForgetsAReplica>>;
  static const StrategyOf<Sgd> factory("wrong SGD", {}, &Sgd::mistake);
  return factory;
}

}  // namespace belfry::testing
