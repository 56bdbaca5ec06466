// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/replica_array.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/nest.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::detail {

/// The compared properties of a mirrored variable: structure, lengths and shapes, and the bits of
/// the listed leaves. With tensors the host blocks until they are computed.
enum class Compared : std::uint8_t {
  kHostLeaves,  ///< Of its components.
  kAllLeaves,   ///< Of its components.
  kResults,     ///< Host leaves of the results of an update's function.
};

/// Values that must be equal, in leaves and, for a message, in words.
struct ComparedValues {
  std::vector<std::vector<LeafRef>> leaves{};
  /// The first value with other keys or lengths than the first value; 0 without such a value.
  std::size_t other_tree = 0;
  FunctionRef<std::vector<LeafDescription>(std::size_t)> describe;
};

/// Throws VariableMismatchError (kMirroredDiverged) unless all values have the same structure,
/// lengths, shapes and bits.
void require_equal(const ComparedValues& values, Compared what, const VariableInfo& info,
                   CallSite site);

/// The same for `count` values; `at(index)` is a value.
template <class At>
void require_mirrored(int count, const At& at, Compared what, const VariableInfo& info,
                      CallSite site) {
  const auto describe = [&at](std::size_t i) { return describe_leaves(at(static_cast<int>(i))); };
  ComparedValues values{.describe = describe};
  for (int i = 0; i < count; ++i) {
    values.leaves.push_back(leaves_of(at(i)));
    if (i > 0 && values.other_tree == 0 && !same_tree(at(0), at(i))) {
      values.other_tree = static_cast<std::size_t>(i);
    }
  }
  require_equal(values, what, info, site);
}

template <class T>
void require_mirrored(ReplicaArray<T>& each, Compared what, const VariableInfo& info,
                      CallSite site) {
  if constexpr (Nest<T>) {
    const auto at = [&each](int i) -> T& { return each[i]; };
    require_mirrored(each.size(), at, what, info, site);
  }
}

/// Before a mirrored variable gives its value away: compares all of its components if the backend
/// asks for the comparison. Order: then the host blocks until they are computed.
template <class T>
void require_mirrored(StrategyCore& core, VariableState<T>& state, CallSite site) {
  if constexpr (Nest<T>) {
    if (!core.backend().verifies_mirrored()) return;
    const auto at = [&state](int i) -> T& { return state.components[i].value; };
    require_mirrored(state.components.size(), at, Compared::kAllLeaves, state.info, site);
  }
}

}  // namespace belfry::detail
