// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/batch_reduce_pairs.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "words/with_report.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

std::string in_value(std::size_t value) {
  return " in value " + std::to_string(value) + " of the batch";
}

}  // namespace

std::exception_ptr in_value_of_batch(std::exception_ptr error, std::size_t value) {
  std::optional<ErrorReport> report = error_report(error);
  if (!report) return error;
  const ErrorCode code = report->code;
  if (code != ErrorCode::kStructure && code != ErrorCode::kDType &&
      code != ErrorCode::kIntegerMean) {
    return error;
  }
  report->summary += in_value(value);
  return with_report(std::move(error), *report);
}

std::vector<std::vector<LeafRef>>& ReductionBatch::parts_of(const Participants& present,
                                                            bool has_tensors) {
  auto group = std::ranges::find(groups_, present, &Group::present);
  if (group == groups_.end()) {
    groups_.push_back({.present = present});
    group = groups_.end() - 1;
    group->parts.resize(static_cast<std::size_t>(present.count()));
  }
  group->has_tensors |= has_tensors;
  group->values.push_back(values_++);
  return group->parts;
}

void ReductionBatch::reduce(StrategyCore& core, ReduceOp op, CallSite site,
                            ValueWords describe) const {
  require_operator(op, site);  // Also if the batch is empty.
  for (const Group& group : groups_) {
    const auto place = [&](std::size_t leaf) { return group.place_of(leaf, describe); };
    reduce_at(site, core, {op, group.parts, group.has_tensors, group.present}, place);
  }
}

std::string ReductionBatch::Group::place_of(std::size_t leaf, ValueWords describe) const {
  for (const std::size_t value : values) {
    const std::vector<LeafDescription> words = describe(value);
    const auto own = static_cast<std::size_t>(std::ranges::count_if(words, is_of_leaf));
    if (leaf < own) return place_in_value(words, leaf) + in_value(value);
    leaf -= own;
  }
  return "";
}

}  // namespace belfry::detail
