// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/reduce_values.h"

#include "belfry/backend/device.h"
#include "belfry/error.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::detail {

bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype != b[i].dtype || a[i].count != b[i].count) return false;
    if ((a[i].tensor == nullptr) != (b[i].tensor == nullptr)) return false;
    if (a[i].tensor != nullptr && a[i].tensor->shape() != b[i].tensor->shape()) return false;
  }
  return true;
}

void throw_structures_differ(int replica, const std::vector<LeafDescription>& first,
                             const std::vector<LeafDescription>& other, CallSite site,
                             int first_replica) {
  std::size_t index = 0;
  while (index < first.size() && index < other.size() && first[index] == other[index]) ++index;
  const auto text = [index](const std::vector<LeafDescription>& leaves) {
    return index < leaves.size()
               ? leaves[index].type + " at leaf " + std::to_string(index) + leaves[index].path
               : std::to_string(leaves.size()) + " leaves";
  };
  ErrorReport report;
  report.code = ErrorCode::kStructure;
  report.summary = "components of different structure cannot be reduced";
  report.site = site;
  report.replicas.push_back({first_replica, site, "has " + text(first)});
  report.replicas.push_back({replica, site, "has " + text(other)});
  report.expected = "the same structure, lengths and shapes in every component";
  throw StructureMismatchError(std::move(report));
}

void require_all_replicas(StrategyCore& core, int components, CallSite site) {
  if (components == core.size()) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "tensors of " + std::to_string(components) + " of " +
                             std::to_string(core.size()) + " replicas cannot be reduced",
                         "read the components one by one with local_values", site);
}

AnyTensor concatenate_rows(const std::vector<AnyTensor>& parts, Placement target, CallSite site) {
  std::vector<std::int64_t> extents = parts.front().shape().extents();
  std::int64_t rows = 0;
  for (std::size_t replica = 0; replica < parts.size(); ++replica) {
    const std::vector<std::int64_t>& own = parts[replica].shape().extents();
    if (own.empty() || own.size() != extents.size() ||
        !std::equal(own.begin() + 1, own.end(), extents.begin() + 1)) {
      throw_structures_differ(static_cast<int>(replica),
                              {{"", "tensor" + to_string(parts.front().shape())}},
                              {{"", "tensor" + to_string(parts[replica].shape())}}, site);
    }
    rows += own.front();
  }
  extents.front() = rows;
  AnyTensor all = AnyTensor::allocate(parts.front().dtype(), Shape(extents), target);
  BufferView slot = all.view();
  for (const AnyTensor& part : parts) {
    if (part.view().count == 0) continue;
    const AnyTensor local = part.copy_to(target);
    slot.count = local.view().count;
    device_of(target).compute_stream().copy(slot, local.view());
    slot.offset += slot.bytes();
  }
  return all;
}

}  // namespace belfry::detail
