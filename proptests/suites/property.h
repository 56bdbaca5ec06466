// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/described.h"
#include "belfry/testing/strategy_factory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// Fixture of all suites. A property passes only if its cases ran kernels or copies on devices, and
/// collectives, if the strategy uses collectives. A property without work on devices says nothing
/// about the backend.
class Property : public ::testing::Test {
 public:
  void add_work(const DeviceWork& work) { work_ += work; }

 protected:
  /// Checks `property` over random cases. Errors of belfry are printed with seed and replay token.
  template <class F>
  void holds(F&& property) {
    rc::detail::checkGTest(described(std::forward<F>(property)));
  }

  void TearDown() override {
    if (HasFailure()) return;
    const std::string where = " on " + std::string(backend_factory().name());
    EXPECT_GT(work_.commands, 0U) << "no command was executed" << where;
    if (!strategy_factory().uses_collectives()) return;
    EXPECT_GT(work_.collectives, 0U)
        << "no collective ran" << where << "; if a do_reduce of " << strategy_factory().name()
        << " does without, let uses_collectives() of its factory be false";
  }

 private:
  DeviceWork work_;
};

/// A backend of the factory for one case, whose work counts for the property. The destructor asks
/// the factory for mistakes of the strategies, unless an exception was thrown; the work of this
/// check does not count.
class Bench {
 public:
  Bench(Property& property, const BackendRequest& request)
      : property_(property),
        is_replay_(request.schedule == ScheduleKind::kReplay),
        backend_(backend_factory().make(request)) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    property_.add_work(backend_factory().work(*backend_));
    // A replay has no choices left.
    if (is_replay_ || std::uncaught_exceptions() > thrown_before_) return;
    for (const auto& strategy : strategies_) {
      EXPECT_EQ(own_mistake_in_words(strategy_factory(), *strategy), "")
          << "what is " << strategy_factory().name() << "'s own went wrong";
    }
  }

  Backend& backend() { return *backend_; }
  /// A strategy of the factory on the backend. Lives as long as the Bench.
  Strategy& strategy(const StrategyOptions& options = {}) {
    strategies_.push_back(strategy_factory().make(*backend_, options));
    return *strategies_.back();
  }

 private:
  Property& property_;
  bool is_replay_;
  int thrown_before_ = std::uncaught_exceptions();
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
};

/// A reduction of a tensor, for properties whose own data stays on the host.
inline void meet_with_a_tensor(ReplicaContext& replica) {
  replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1.0F));
}

/// `count` devices on the backend's default schedule.
inline BackendRequest devices(int count) {
  BackendRequest request;
  request.devices = count;
  return request;
}

}  // namespace belfry::testing
