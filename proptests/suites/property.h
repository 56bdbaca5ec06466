// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/described.h"
#include "belfry/testing/strategy_factory.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing {

/// Fixture of all suites. A property passes only if its cases ran kernels or copies on devices, and
/// collectives, if the strategy uses collectives. A property without work on devices says nothing
/// about the backend.
class Property : public ::testing::Test {
 public:
  /// May be called on any thread.
  void add_work(const DeviceWork& work) {
    const std::lock_guard lock(mutex_);
    work_ += work;
  }
  /// The place of the case that begins; nothing in a single process. A host of a cluster asks
  /// before the first call of its group.
  const std::optional<CasePlace>& place() const { return place_; }

 protected:
  /// Checks `property` over random cases. Errors of belfry are printed with seed and replay token.
  /// With places of cases the property runs in several processes, each of which asserts about the
  /// own replicas; `BackendRequest::devices` is the number of all replicas then.
  template <class F>
  void holds(F&& property) {
    if (case_places == nullptr) {
      rc::detail::checkGTest(described(std::forward<F>(property)));
      return;
    }
    case_places->check([&](const CasePlace& place) {
      place_.emplace(place);
      run_here(property, static_cast<rc::detail::FunctionType<F>*>(nullptr));
    });
  }
  /// The request with as many devices as all processes have.
  BackendRequest placed(BackendRequest request) const {
    if (place_) request.devices = place_->replicas();
    return request;
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
  template <class F, class R, class... Args>
  void run_here(const F& property, R (*)(Args...)) {
    std::tuple<std::decay_t<Args>...> drawn{drawn_here<std::decay_t<Args>>()...};
    std::apply(property, drawn);
  }
  template <class T>
  T drawn_here() {
    if constexpr (std::is_same_v<T, BackendRequest>) {
      return placed(*rc::gen::arbitrary<T>());
    } else {
      return *rc::gen::arbitrary<T>();
    }
  }

  std::mutex mutex_;  // Of work_.
  DeviceWork work_;
  std::optional<CasePlace> place_;
};

/// A backend of the factory for one case, whose work counts for the property. The destructor asks
/// the factory for mistakes of the strategies, unless an exception was thrown; the work of this
/// check does not count.
class Bench {
 public:
  Bench(Property& property, const BackendRequest& request)
      : Bench(property, request, property.place()) {}
  Bench(Property& property, const BackendRequest& request, std::optional<CasePlace> place)
      : property_(property),
        place_(std::move(place)),
        is_replay_(request.schedule == ScheduleKind::kReplay),
        made_(has_backend() ? nullptr : backend_factory().make(own_part(request))),
        backend_(has_backend() ? *place_->backend : *made_),
        own_(static_cast<std::size_t>(own_part(request).devices)) {
    std::iota(own_.begin(), own_.end(), place_ ? place_->first_replica() : 0);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    property_.add_work(backend_factory().work(backend_));
    // A replay has no choices left.
    if (is_replay_ || std::uncaught_exceptions() > thrown_before_) return;
    for (const auto& strategy : strategies_) {
      EXPECT_EQ(own_mistake_in_words(strategy_factory(), *strategy), "")
          << "what is " << strategy_factory().name() << "'s own went wrong";
    }
  }

  Backend& backend() { return backend_; }
  /// A strategy of the factory on the backend. Lives as long as the Bench.
  Strategy& strategy(const StrategyOptions& options = {}) {
    strategies_.push_back(place_ ? place_->strategies.make(backend_, place_->group, options)
                                 : strategy_factory().make(backend_, options));
    return *strategies_.back();
  }
  /// The replicas of this process, ascending: all in a single process.
  const std::vector<int>& own() const { return own_; }
  bool has(int replica) const { return std::ranges::binary_search(own_, replica); }

 private:
  bool has_backend() const { return place_ && place_->backend != nullptr; }
  BackendRequest own_part(BackendRequest request) const {
    if (place_) request.devices = place_->devices();
    return request;
  }

  Property& property_;
  std::optional<CasePlace> place_;
  bool is_replay_;
  int thrown_before_ = std::uncaught_exceptions();
  std::unique_ptr<Backend> made_;
  Backend& backend_;
  std::vector<int> own_;
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
