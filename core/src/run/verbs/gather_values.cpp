// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/gather_values.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/error.h"
#include "values/elsewhere.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::vector<Shape> shapes_of(const std::vector<AnyTensor>& parts) {
  std::vector<Shape> shapes;
  for (const AnyTensor& part : parts) {
    if (part.empty() && !is_elsewhere(part)) {
      throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                                 "a default-constructed tensor cannot be gathered",
                                 "make it with Tensor::from, full or zeros", submitting_site());
    }
    shapes.push_back(part.shape());
  }
  return shapes;
}

std::vector<std::int64_t> extents_at(const std::vector<Shape>& shapes, int axis) {
  std::vector<std::int64_t> extents;
  extents.reserve(shapes.size());
  for (const Shape& shape : shapes) extents.push_back(shape.extent(axis));
  return extents;
}

// A tensor for each replica of this process. A group gives its members tensors: as nobody uses the
// tensor of another replica, the first serves.
std::vector<AnyTensor> for_all_of(const GatherCall& call, std::vector<AnyTensor> joined) {
  const Participants& own = call.core.own();
  if (static_cast<int>(joined.size()) == own.count()) return joined;
  std::vector<AnyTensor> all;
  for (int i = 0; i < own.count(); ++i) {
    const bool is_member = call.present.has(own.id(i));
    const int table = is_member ? call.present.position(own.id(i)) : 0;
    all.push_back(joined[static_cast<std::size_t>(table)]);
  }
  return all;
}

}  // namespace

int gather_axis(const std::vector<Shape>& shapes, const GatherCall& call) {
  const int rank = shapes.front().rank();
  const bool same_rank =
      std::ranges::all_of(shapes, [rank](const Shape& shape) { return shape.rank() == rank; });
  const int number = same_rank ? axis_of(shapes.front(), call.axis, call.verb, call.site) : 0;
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "values of these shapes cannot be gathered along one axis";
  report.site = call.site;
  report.expected = "the same rank, and the same extents but for the axis, on every replica";
  bool fits = same_rank;
  for (std::size_t part = 0; part < shapes.size(); ++part) {
    report.replicas.push_back({call.present.id(static_cast<int>(part)),
                               call.site,
                               "brings shape " + to_string(shapes[part]),
                               {}});
    fits = fits && with_extent(shapes[part], number, 0) == with_extent(shapes[0], number, 0);
  }
  if (!fits) throw StructureMismatchError(std::move(report));
  return number;
}

void require_joinable(const GatherCall& call, const std::vector<AnyTensor>& parts) {
  const SiteScope scope(call.site);
  gather_axis(shapes_of(parts), call);
}

AnyTensor gather_tensors(const GatherCall& call, const std::vector<AnyTensor>& parts) {
  const SiteScope scope(call.site);
  const int number = gather_axis(shapes_of(parts), call);
  std::vector<AnyTensor> here;
  here.reserve(parts.size());
  for (const AnyTensor& part : parts) here.push_back(part.copy_to(call.core.placement(call.root)));
  return launch_concatenate(here, Axis(number), call.site);
}

std::vector<AnyTensor> all_gather_tensors(const GatherCall& call,
                                          const std::vector<AnyTensor>& parts) {
  const SiteScope scope(call.site);
  const std::vector<Shape> shapes = shapes_of(parts);
  const int number = gather_axis(shapes, call);
  std::vector<AnyTensor> joined = call.core.reductions().all_gather(parts, call.present);
  for (AnyTensor& table : joined) {
    table = join(table, shapes.front(), number, extents_at(shapes, number), call.site);
  }
  return for_all_of(call, std::move(joined));
}

void require_same_axis(const PerReplica<int>& axes, CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "replicas ask for different axes in one all_gather";
  report.expected = "the same axis on every replica";
  bool same = true;
  for (const int& axis : axes) {
    same = same && axis == *axes.begin();
    report.replicas.push_back({axes.present().id(static_cast<int>(&axis - axes.begin())),
                               site,
                               "gathers along " + std::to_string(axis),
                               {}});
  }
  if (!same) throw StructureMismatchError(std::move(report));
}

}  // namespace belfry::detail
