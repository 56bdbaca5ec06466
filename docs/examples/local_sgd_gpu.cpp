// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A user's strategy on GPUs, trained and tested there: docs/strategies.md. Run on the simulated
// driver where there is no GPU.
#include "local_sgd_trained.h"
#include "local_sgd_training.h"
#include <belfry/testing/contracts.h>

// [gpu_includes]
#include <belfry/cuda/backend.h>

#include <string>
#include <string_view>
// [gpu_includes]

// [gpus]
class Gpus final : public belfry::testing::BackendFactory {
 public:
  std::string_view name() const override { return "GPUs"; }
  std::unique_ptr<belfry::Backend> make(
      const belfry::testing::BackendRequest& request) const override {
    auto options = belfry::cuda::Options::fit(request.devices);
    options.warm_up = false;
    return std::make_unique<belfry::cuda::Backend>(options);
  }
  belfry::testing::DeviceWork work(belfry::Backend& backend) const override {
    const auto done = static_cast<belfry::cuda::Backend&>(backend).statistics();
    return {done.kernel_launches, done.collectives()};
  }
  std::string replay_token(belfry::Backend&) const override { return {}; }
};
// [gpus]

int main() {
  // [gpu]
  belfry::cuda::Backend backend{belfry::cuda::Options::fit(2)};
  LocalSgdStrategy strategy{backend, {}, 2};
  const float weight = train(strategy, 4);
  std::cout << "mean " << strategy.means_taken() << ": " << weight << '\n';

  const belfry::testing::StrategyOf<TrainedSgd> strategies("local SGD", {}, &TrainedSgd::mistake);
  int kept = 0;
  for (const auto& result : check_contracts(strategies, Gpus{}, {.cases = 5})) {
    if (!result.kept) std::cout << result.message << '\n';
    kept += result.kept ? 1 : 0;
  }
  std::cout << kept << " contracts kept\n";
  // [gpu]
}
