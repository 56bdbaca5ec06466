// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <belfry/belfry.h>

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

/// Replicas train copies of their own for some steps, then take the mean of them: less
/// communication than a mirrored strategy, which meets at every step. A step is one `run`.
// [strategy]
class LocalSgdStrategy : public belfry::Strategy {
 public:
  LocalSgdStrategy(belfry::Backend& backend, const belfry::StrategyOptions& options,
                   int steps_between_means = 4, belfry::CallSite site = belfry::CallSite::here())
      : Strategy(backend, options, site), steps_between_means_(steps_between_means) {
    if (steps_between_means < 1) throw std::invalid_argument("at least one step between means");
  }

  /// A variable that each replica trains by itself; at every mean all become equal.
  template <class Init>
  auto parameter(const Init& init) {
    const auto variable = replica_local_variable(belfry::Aggregation::kMean, init);
    using T = typename decltype(variable)::value_type;
    means_.push_back([this, variable] {
      const auto mean = cross_replica().broadcast(read(variable));
      cross_replica().update(
          variable, [](T& component, const T& value) { component = value; }, mean);
    });
    return variable;
  }

  int means_taken() const { return taken_; }

 private:
  // The replicas of one step, then the mean if it is due. Runs of a merge are no steps.
  void do_run(belfry::StrategyStep& replicas) override {
    replicas.carry_out();
    if (replicas.nested() || ++steps_ % steps_between_means_ != 0) return;
    for (const auto& take_mean : means_) take_mean();
    ++taken_;
  }

  int steps_between_means_;
  int steps_ = 0;
  int taken_ = 0;
  std::vector<std::function<void()>> means_;
};
// [strategy]
