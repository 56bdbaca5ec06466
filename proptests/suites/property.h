// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/strategy_factory.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::testing {

/// The fixture of all suites. A property draws a case, runs a strategy on a bench, and asserts
/// about the results:
///
///   TEST_F(Sums, CountEveryReplica) {
///     holds([this](const BackendRequest& request, std::uint16_t value) {    // Drawn.
///       Bench bench(*this, request);      // A backend, and strategies of the factory.
///       const auto sums = bench.strategy().run([&](ReplicaContext& replica) {
///         meet_with_a_tensor(replica);    // The work on devices that every property needs.
///         return replica.all_reduce(ReduceOp::kSum, int{value});
///       });
///       for (const int id : bench.own()) RC_ASSERT(sums[id] == value * request.devices);
///     });
///   }
///
/// A property passes only if its cases ran kernels or copies on devices, and collectives, if the
/// strategy uses collectives: a property without work on devices says nothing about the backend.
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
  /// Checks `property` over random cases. Draws the arguments, from the first to the last. Errors
  /// of belfry are printed with seed and replay token. With places of cases the property runs in
  /// several processes, each of which asserts about the own replicas; `BackendRequest::devices` is
  /// the number of all replicas then.
  template <class F>
  void holds(const F& property) {
    check([this, &property] {
      call_with_draws(property, static_cast<rc::detail::FunctionType<F>*>(nullptr));
    });
  }
  /// The request with as many devices as all processes have.
  BackendRequest placed(BackendRequest request) const;

  void TearDown() override;

 private:
  // Checks a property that draws its values itself. A single function: RapidCheck's templates would
  // be instantiated for each property.
  void check(const std::function<void()>& property);
  template <class F, class R>
  void call_with_draws(const F& property, R (* /*signature*/)()) {
    property();
  }
  template <class F, class R, class First, class... More>
  void call_with_draws(const F& property, R (* /*signature*/)(First, More...)) {
    const std::decay_t<First> first = drawn<std::decay_t<First>>();
    const auto with_first = [&](const More&... more) { property(first, more...); };
    call_with_draws(with_first, static_cast<void (*)(More...)>(nullptr));
  }
  template <class T>
  T drawn() const {
    if constexpr (std::is_same_v<T, BackendRequest>) {
      return placed(*backend_request());
    } else {
      return *rc::gen::arbitrary<T>();
    }
  }

  std::mutex mutex_;  // Of work_.
  DeviceWork work_;
  DeviceWork elsewhere_{};  // The work of other programs in the same cases.
  std::optional<CasePlace> place_;
};

/// A backend of the factory for one case, whose work counts for the property. The destructor asks
/// the factory for mistakes of the strategies, unless an exception was thrown; the work of this
/// check does not count.
class Bench {
 public:
  Bench(Property& property, const BackendRequest& request)
      : Bench(property, request, property.place()) {}
  Bench(Property& property, const BackendRequest& request, std::optional<CasePlace> place);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench();

  Backend& backend() { return backend_; }
  /// A strategy of the factory on the backend. Lives as long as the Bench.
  Strategy& strategy(const StrategyOptions& options = {});
  /// The replicas of this process, ascending: all in a single process.
  const std::vector<int>& own() const { return own_; }
  bool has(int replica) const;

 private:
  bool has_backend() const { return place_ && place_->backend != nullptr; }
  BackendRequest own_part(BackendRequest request) const;

  Property& property_;
  std::optional<CasePlace> place_;
  bool is_replay_;
  int thrown_before_;
  std::unique_ptr<Backend> made_;
  Backend& backend_;
  std::vector<int> own_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
};

/// Reduces a tensor without a meaning: gives devices work in properties with all data on the host,
/// and streams different schedules.
void meet_with_a_tensor(ReplicaContext& replica);

inline Tensor<float> tensor_of(const std::vector<float>& row) {
  return Tensor<float>::from({static_cast<std::int64_t>(row.size())}, row);
}

/// `count` devices on the backend's default schedule.
BackendRequest devices(int count);

}  // namespace belfry::testing
