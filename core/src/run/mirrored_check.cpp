// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/mirrored_check.h"

#include "belfry/any_tensor.h"
#include "belfry/error.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

std::vector<std::byte> bytes_of(const LeafRef& leaf) {
  std::vector<std::byte> bytes(leaf.bytes());
  if (bytes.empty()) return bytes;
  if (leaf.tensor != nullptr) {
    leaf.tensor->read(bytes.data());
  } else {
    std::memcpy(bytes.data(), leaf.data, bytes.size());
  }
  return bytes;
}

[[noreturn]] void throw_diverged(const VariableInfo& info, Compared what, int component,
                                 std::size_t leaf, CallSite site) {
  const bool results = what == Compared::kResults;
  ErrorReport report;
  report.code = ErrorCode::kMirroredDiverged;
  report.summary =
      (results ? "what an update of mirrored " + info.name + " returned for its components differs"
               : "the components of mirrored " + info.name + " differ") +
      " in leaf " + std::to_string(leaf);
  report.site = site;
  report.replicas.push_back(
      {0, info.created, results ? "has the reference result" : "has the reference component"});
  report.replicas.push_back({component, info.created, "has other bits"});
  report.expected = "an update that does the same on every device";
  report.hint = results ? "take what differs between components from update_each"
                        : "use a replica-local variable for state that differs between replicas";
  throw VariableMismatchError(std::move(report));
}

}  // namespace

void require_equal_leaves(const std::vector<std::vector<LeafRef>>& components, Compared what,
                          const VariableInfo& info, CallSite site) {
  const std::vector<LeafRef>& first = components.front();
  for (std::size_t replica = 1; replica < components.size(); ++replica) {
    if (components[replica].size() != first.size()) {
      throw_diverged(info, what, static_cast<int>(replica), 0, site);
    }
  }
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    if (first[leaf].tensor != nullptr && what != Compared::kAllLeaves) continue;
    const std::vector<std::byte> reference = bytes_of(first[leaf]);
    for (std::size_t replica = 1; replica < components.size(); ++replica) {
      if (bytes_of(components[replica][leaf]) != reference) {
        throw_diverged(info, what, static_cast<int>(replica), leaf, site);
      }
    }
  }
}

}  // namespace belfry::detail
