// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/property.h"

#include "belfry/testing/described.h"
#include "suites/recorded_cases.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

namespace belfry::testing {
namespace {

// Programs with places of cases have numbers of their own.
[[maybe_unused]] ::testing::Environment* const kCases =
    ::testing::AddGlobalTestEnvironment(new RecordedCases([] {
      return case_places == nullptr ? rc::detail::configuration().testParams.maxSuccess : 0;
    }));

}  // namespace

void Property::check(const std::function<void()>& property) {
  if (case_places == nullptr) {
    rc::detail::checkGTest(described([&property] { property(); }));
    return;
  }
  const auto run_case = [&](const CasePlace& place) {
    place_.emplace(place);
    property();
  };
  elsewhere_ = case_places->check(run_case, [this] { return work_; });
}

BackendRequest Property::placed(BackendRequest request) const {
  if (place_) request.devices = place_->replicas();
  return request;
}

void Property::TearDown() {
  if (HasFailure()) return;
  const std::string where = " on " + std::string(backend_factory().name());
  work_ += elsewhere_;
  EXPECT_GT(work_.commands, 0U) << "no command was executed" << where;
  if (!strategy_factory().uses_collectives()) return;
  EXPECT_GT(work_.collectives, 0U)
      << "no collective ran" << where << "; if a do_reduce of " << strategy_factory().name()
      << " does without, let uses_collectives() of its factory be false";
}

Bench::Bench(Property& property, const BackendRequest& request, std::optional<CasePlace> place)
    : property_(property),
      place_(std::move(place)),
      is_replay_(request.schedule == ScheduleKind::kReplay),
      thrown_before_(std::uncaught_exceptions()),
      made_(has_backend() ? nullptr : backend_factory().make(own_part(request))),
      backend_(has_backend() ? *place_->backend : *made_),
      own_(static_cast<std::size_t>(own_part(request).devices)) {
  std::iota(own_.begin(), own_.end(), place_ ? place_->first_replica() : 0);
}

Bench::~Bench() {
  property_.add_work(backend_factory().work(backend_));
  // A replay has no choices left.
  if (is_replay_ || std::uncaught_exceptions() > thrown_before_) return;
  for (const auto& strategy : strategies_) {
    EXPECT_EQ(own_mistake_in_words(strategy_factory(), *strategy), "")
        << "what is " << strategy_factory().name() << "'s own went wrong";
  }
}

Strategy& Bench::strategy(const StrategyOptions& options) {
  strategies_.push_back(place_ ? place_->strategies.make(backend_, place_->group, options)
                               : strategy_factory().make(backend_, options));
  return *strategies_.back();
}

bool Bench::has(int replica) const { return std::ranges::binary_search(own_, replica); }

BackendRequest Bench::own_part(BackendRequest request) const {
  if (place_) request.devices = place_->devices();
  return request;
}

void meet_with_a_tensor(ReplicaContext& replica) {
  replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1.0F));
}

BackendRequest devices(int count) {
  BackendRequest request;
  request.devices = count;
  return request;
}

}  // namespace belfry::testing
