// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/planned_all_reduce.h"

#include "belfry/error.h"
#include "collectives/planned_reduction.h"

#include <optional>
#include <string>
#include <utility>

namespace belfry {

PlannedAllReduce::PlannedAllReduce() = default;
PlannedAllReduce::~PlannedAllReduce() = default;

std::shared_ptr<const detail::PlanSchedule> PlannedAllReduce::schedule(int members) {
  const std::scoped_lock lock(mutex_);
  auto& kept = schedules_[members];
  if (kept == nullptr) {
    std::optional<ReductionPlan> made = plan(members);
    if (!made || made->members != members) {
      throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                                 "the algorithm '" + std::string(name()) + "' has no plan for " +
                                     std::to_string(members) + " members",
                                 "plan(members) of a PlannedAllReduce gives a plan of `members`");
    }
    kept = std::make_shared<const detail::PlanSchedule>(std::move(*made));
  }
  return kept;
}

void PlannedAllReduce::all_reduce(const TensorReduction& reduction) {
  const auto schedule = this->schedule(static_cast<int>(reduction.members));
  detail::PlannedReduction(reduction, *schedule).run();
}

}  // namespace belfry
