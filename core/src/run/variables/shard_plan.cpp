// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/shard_plan.h"

#include "belfry/detail/round_members.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/detail/update_argument.h"
#include "belfry/error.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::string words_of_part(const DType dtype, const Shape& shape) {
  return to_string(dtype) + to_string(shape);
}

std::string rows_in_words(const ShardRows& rows) {
  if (rows.count() == 0) return "no rows";
  return "the rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end - 1);
}

}  // namespace

ShardRows ShardPlan::rows(int replica) const {
  const std::int64_t all = whole.extent(axis);
  const std::int64_t each = all / replicas;
  const std::int64_t more = all % replicas;
  const std::int64_t begin = replica * each + std::min<std::int64_t>(replica, more);
  return {begin, begin + each + (replica < more ? 1 : 0)};
}

Shape ShardPlan::shape_of(const ShardRows& rows) const {
  return with_extent(whole, axis, rows.count());
}

std::size_t ShardPlan::line_bytes() const {
  return static_cast<std::size_t>(extents_product(whole, axis + 1, whole.rank())) * size_of(dtype);
}

std::int64_t ShardPlan::lines() const {
  return whole.count() == 0 ? 0 : extents_product(whole, 0, axis + 1);
}

std::int64_t ShardPlan::lines_before(const ShardRows& rows, std::int64_t line) const {
  const std::int64_t all = whole.extent(axis);
  return line / all * rows.count() +
         std::clamp<std::int64_t>(line % all - rows.begin, 0, rows.count());
}

void ShardPlan::each_run(const ShardRows& rows, std::int64_t begin, std::int64_t end,
                         FunctionRef<void(std::int64_t, std::int64_t)> fn) const {
  const std::int64_t all = whole.extent(axis);
  for (std::int64_t first = begin / all * all; first < end; first += all) {
    const std::int64_t from = std::max(begin, first + rows.begin);
    const std::int64_t to = std::min(end, first + rows.end);
    if (from < to) fn(from, to - from);
  }
}

void require_rows_of(const VariableInfo& info, int component, const AnyTensor& part,
                     CallSite site) {
  const ShardRows rows = info.shards->own[static_cast<std::size_t>(component)];
  const Shape shape = info.shards->shape_of(rows);
  if (!part.empty() && part.shape() == shape) return;
  ErrorReport report;
  report.code = part.empty() ? ErrorCode::kInvalidArgument : ErrorCode::kShape;
  report.summary = "a part of sharded variable \"" + info.name + "\" keeps its shape";
  report.site = site;
  report.replicas.push_back(
      {info.first_replica + component,
       site,
       part.empty() ? "has a default-constructed tensor as its part"
                    : "has " + words_of_part(part.dtype(), part.shape()) + " as its part",
       {}});
  report.expected = words_of_part(info.shards->dtype, shape) + ": " + rows_in_words(rows) +
                    " of axis " + std::to_string(info.shards->axis) + " of " +
                    to_string(info.shards->whole);
  report.hint =
      "give the rows of this replica alone, as rows(begin, end) and reduce_scatter return them; "
      "the "
      "variable was made at " +
      to_string(info.created);
  throw InvalidArgumentError(std::move(report));
}

void keep_rows_alone(AnyTensor& part, const Placement& place) {
  if (part.placement() != place) part = part.copy_to(place);
  part_from_program(part);
  if (part.view().buffer->bytes() > part.bytes()) part = own_copy(part);
}

void fit_rows(const VariableInfo& info, int component, AnyTensor& part, CallSite site) {
  require_rows_of(info, component, part, site);
  const SiteScope scope(site);
  const int device = info.places.devices[static_cast<std::size_t>(component)];
  keep_rows_alone(part, info.owner->placement_on(device));
}

void require_no_rows_listen(const StrategyCore& core, const VariableInfo& info, const char* what,
                            CallSite site) {
  for (const int replica : core.members().replicas_of_listeners()) {
    if (info.shards->rows(replica).count() > 0) core.members().require_no_listener(what, site);
  }
}

void require_rows_of_all(const VariableInfo& info, const Shape& joined, CallSite site) {
  if (joined == info.shards->whole) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "the whole of sharded variable \"" + info.name + "\" needs the rows of all replicas: those " +
          "that take part have " + to_string(joined) + " of " + to_string(info.shards->whole),
      "let every replica take part in the run, and call whole with the context of the replica, not "
      "of a group; or read() the variable between runs",
      site);
}

int shard_axis(const VariableInfo& info) { return info.shards->axis; }

}  // namespace belfry::detail
