// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/strategy_factory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

/// Fixture of all suites. A property passes only if its cases made devices work: kernels or copies,
/// and collectives, where the strategy uses them. One that ran nothing on a device says nothing
/// about the backend.
class Property : public ::testing::Test {
 public:
  void add_work(const DeviceWork& work) { work_ += work; }

 protected:
  /// Checks `property` over random cases.
  template <class F>
  void holds(F&& property) {
    rc::detail::checkGTest(std::forward<F>(property));
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

/// A backend of the factory for one case, whose work counts for the property. At its end, if
/// nothing was thrown, the factory is asked what is wrong with the strategies; what they do then
/// does not count.
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
  /// A strategy of the factory on it, which lives as long as it does.
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

/// Meets once with a tensor: for properties whose own data stays on the host.
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
