// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/replica_array.h"
#include "belfry/detail/variable_state.h"
#include "belfry/nest.h"

#include <cstdint>
#include <vector>

namespace belfry::detail {

/// What is compared of a mirrored variable. With tensors the host blocks until they are computed.
enum class Compared : std::uint8_t {
  kHostLeaves,  ///< Of its components.
  kAllLeaves,   ///< Of its components.
  kResults,     ///< Host leaves of what the function of an update returned for each component.
};

/// Throws VariableMismatchError (kMirroredDiverged) unless the leaves of all components, or
/// results, have the same bits.
void require_equal_leaves(const std::vector<std::vector<LeafRef>>& each, Compared what,
                          const VariableInfo& info, CallSite site);

template <class T>
void require_mirrored(ReplicaArray<T>& each, Compared what, const VariableInfo& info,
                      CallSite site) {
  if constexpr (Nest<T>) {
    std::vector<std::vector<LeafRef>> leaves;
    for (T& one : each) leaves.push_back(leaves_of(one));
    require_equal_leaves(leaves, what, info, site);
  }
}

}  // namespace belfry::detail
