// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "local_sgd_trained.h"
#include "strategies/wrong_strategies.h"

#include <functional>
#include <type_traits>
#include <vector>

namespace belfry::testing {

enum class SgdMistake {
  kForgetsAReplica,  ///< No mean has the components of the last replica.
  kSkipsTensors,     ///< Parameters that are tensors get no means.
  kSetsToZero,       ///< Instead of taking means.
};

/// Keeps all rules for strategies, and makes a mistake in its own work, the means.
template <SgdMistake kMistake>
class WrongSgd : public Mistaken {
 public:
  WrongSgd(Backend& backend, const StrategyOptions& options, int /*steps_between_means*/)
      : Mistaken(backend, options) {}

  template <class Init>
  auto parameter(const Init& init) {
    auto variable = replica_local_variable(Aggregation::kMean, init);
    using T = typename decltype(variable)::value_type;
    constexpr bool kIsTensor = std::is_same_v<T, Tensor<float>>;
    if (kIsTensor && kMistake == SgdMistake::kSkipsTensors) return variable;
    means_.push_back([this, variable, init] {
      const auto mean = cross_replica().broadcast(
          kMistake == SgdMistake::kSetsToZero ? T(init()) : read(variable));
      cross_replica().update(
          variable, [](T& component, const T& value) { component = value; }, mean);
    });
    return variable;
  }

 private:
  void do_run(StrategyStep& replicas) override {
    replicas.carry_out();
    if (replicas.nested()) return;
    is_mean_ = true;
    for (const auto& take_mean : means_) take_mean();
    is_mean_ = false;
  }
  void do_reduce(const ReduceCall& call) override {
    if (!is_mean_ || kMistake != SgdMistake::kForgetsAReplica) return Strategy::do_reduce(call);
    std::vector<std::vector<LeafRef>> some = without_the_last(call);
    Strategy::do_reduce({call.op, some, call.everywhere, call.present});
  }

  bool is_mean_ = false;
  std::vector<std::function<void()>> means_{};
};

}  // namespace belfry::testing
