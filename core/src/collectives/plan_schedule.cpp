// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/plan_schedule.h"

#include "collectives/adds_all_inputs.h"
#include "collectives/step_order.h"

#include <algorithm>
#include <utility>

namespace belfry::detail {
namespace {

using Place = PlanSchedule::Place;

// Follows the steps of a valid plan: where each member has each chunk.
class Places {
 public:
  Places(int members, int chunks)
      : chunks_(static_cast<std::size_t>(chunks)),
        places_(static_cast<std::size_t>(members) * chunks_, Place::kInput) {}

  Place& operator()(int member, int chunk) {
    return places_[static_cast<std::size_t>(member) * chunks_ + static_cast<std::size_t>(chunk)];
  }
  // Whether all terms have both chunks in the same places.
  bool alike(const std::vector<int>& terms, int chunk, int other) {
    return std::ranges::all_of(
        terms, [&](int term) { return (*this)(term, chunk) == (*this)(term, other); });
  }

 private:
  std::size_t chunks_;
  std::vector<Place> places_;
};

// Cuts a sum where its terms change their places.
void add_sums(std::vector<PlanSchedule::Sum>& all, const ReductionPlan::Sum& sum, Places& places,
              bool is_complete) {
  const int end = sum.chunks.first + sum.chunks.count;
  for (int chunk = sum.chunks.first; chunk < end;) {
    int next = chunk + 1;
    while (next < end && places.alike(sum.terms, chunk, next)) ++next;
    std::vector<PlanSchedule::Term> terms;
    for (const int term : sum.terms) terms.push_back({term, places(term, chunk)});
    all.push_back({sum.member, {chunk, next - chunk}, std::move(terms), is_complete});
    chunk = next;
  }
}

// The members that have full sums, from the last sum of each chunk.
std::vector<PlanSchedule::Finish> finishes_of(const ReductionPlan& plan) {
  std::vector<int> holders(static_cast<std::size_t>(plan.chunks), -1);
  for (const auto& step : plan.sums) {
    for (const ReductionPlan::Sum& sum : step) {
      const bool is_complete = adds_all_inputs(plan, sum);
      for (int i = 0; i < sum.chunks.count; ++i) {
        holders[static_cast<std::size_t>(sum.chunks.first + i)] = is_complete ? -1 : sum.member;
      }
    }
  }
  std::vector<PlanSchedule::Finish> finishes;
  for (int chunk = 0; chunk < plan.chunks; ++chunk) {
    const int holder = holders[static_cast<std::size_t>(chunk)];
    if (holder < 0) continue;
    if (!finishes.empty() && finishes.back().member == holder &&
        finishes.back().chunks.first + finishes.back().chunks.count == chunk) {
      finishes.back().chunks.count += 1;
    } else {
      finishes.push_back({holder, {chunk, 1}});
    }
  }
  std::ranges::sort(finishes, {}, [](const PlanSchedule::Finish& finish) {
    return std::pair(finish.member, finish.chunks.first);
  });
  return finishes;
}

}  // namespace

PlanSchedule::PlanSchedule(ReductionPlan plan) : plan_(std::move(plan)) {
  validate(plan_, CallSite{});  // The verb that reduces names its own.
  Places places(plan_.members, plan_.chunks);
  StepOrder order(plan_.members, plan_.chunks);
  most_received_.assign(static_cast<std::size_t>(plan_.members), 0);
  for (const auto& sums : plan_.sums) {
    order.begin_step();
    Step step;
    for (const ReductionPlan::Sum& sum : sums) {
      const bool is_complete = adds_all_inputs(plan_, sum);
      has_partial_sums_ = has_partial_sums_ || !is_complete;
      const int received = static_cast<int>(sum.terms.size() - 1) * sum.chunks.count;
      int& most = most_received_[static_cast<std::size_t>(sum.member)];
      most = std::max(most, received);
      add_sums(step.sums, sum, places, is_complete);
      for (int c = sum.chunks.first; c < sum.chunks.first + sum.chunks.count; ++c) {
        for (const int term : sum.terms) order.read(sum.member, term, c);
        order.write(sum.member, c);
      }
    }
    for (const ReductionPlan::Sum& sum : sums) {
      for (int i = 0; i < sum.chunks.count; ++i) {
        places(sum.member, sum.chunks.first + i) = Place::kSum;
      }
    }
    step.waits = order.end_step();
    sums_.push_back(std::move(step));
  }
  finishes_ = finishes_of(plan_);
  order.begin_step();
  for (const Finish& finish : finishes_) {
    for (int i = 0; i < finish.chunks.count; ++i)
      order.write(finish.member, finish.chunks.first + i);
  }
  static_cast<void>(order.end_step());
  for (const auto& copies : plan_.copies) {
    order.begin_step();
    for (const ReductionPlan::Copy& copy : copies) {
      for (int i = 0; i < copy.chunks.count; ++i) {
        order.read(copy.to, copy.from, copy.chunks.first + i);
        order.write(copy.to, copy.chunks.first + i);
      }
    }
    copies_.push_back({.waits = order.end_step(), .sums = {}, .copies = copies});
  }
  last_waits_ = order.last_waits();
}

}  // namespace belfry::detail
