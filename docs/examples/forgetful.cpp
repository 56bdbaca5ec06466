// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contracts find a strategy with reductions that forget the last replica's host values.
#include <belfry/belfry.h>
#include <belfry/testing/contracts.h>
#include <belfry/testing/sim_factory.h>

#include <algorithm>
#include <iostream>

using namespace belfry;

class Forgetful final : public Strategy {
 public:
  Forgetful(Backend& backend, const StrategyOptions& options)
      : Strategy(backend, options, CallSite::here()) {}

 private:
  void do_reduce(const ReduceCall& call) override {
    for (const LeafRef& leaf : call.parts.back()) {
      if (leaf.tensor != nullptr || call.parts.size() == 1) continue;
      std::fill_n(static_cast<char*>(leaf.data), leaf.bytes(), '\0');
    }
    Strategy::do_reduce(call);
  }
};

int main() {
  const belfry::testing::StrategyOf<Forgetful> strategies("a forgetful strategy");
  const belfry::testing::ContractOptions options{.cases = 100, .most_devices = 4, .seed = 1};
  std::cout
      << check_contract("C-reduce", strategies, belfry::testing::SimFactory{}, options).message
      << '\n';
}
