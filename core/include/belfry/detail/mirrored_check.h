// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
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

/// What processes compare of a component of a mirrored variable: the structure, with lengths and
/// shapes, and a digest of all leaves.
struct MirrorWords {
  std::string structure;
  std::uint64_t digest = 0;
};

/// A digest of the elements; 0 for a default-constructed tensor. Order: blocks the host until the
/// elements are computed. Throws: DeviceError.
std::int64_t digest_of(const AnyTensor& tensor);

/// Order, Throws: as digest_of, for each tensor.
template <Nest T>
MirrorWords mirror_words(const T& component) {
  MirrorWords words;
  for (const LeafDescription& leaf : describe_leaves(component)) {
    words.structure += " " + leaf.path + leaf.type;
  }
  std::vector<std::int64_t> of_tensors;
  for_each_leaf(component, [&](const auto& leaf) {
    if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
      of_tensors.push_back(digest_of(leaf.any()));
    }
  });
  HostDigest digest;
  digest.add(component);
  digest.add(of_tensors);
  words.digest = digest.value();
  return words;
}

/// A comparison between processes, for messages.
struct ProcessComparison {
  const VariableInfo& info;
  const char* verb = "update";
  bool is_total = false;  ///< Of an assigned total, and not of components.
};

/// Compares the new components of a mirrored variable, or an assigned total, between processes
/// (SEM-159). `words` is called if there are several processes. Order: blocks the host until all
/// processes have called. Throws: VariableMismatchError (kMirroredDiverged) in every process if the
/// processes differ; MergeMismatchError; ProcessLostError.
void require_mirrored_in_processes(StrategyCore& core, FunctionRef<MirrorWords()> words,
                                   const ProcessComparison& compared, CallSite site);

/// The same for a component. Order: blocks the host until the tensors of the component are
/// computed. Throws: also DeviceError, and then PeerFailedError in the other processes.
template <class T>
void compare_between_processes(StrategyCore& core, const T& component,
                               const ProcessComparison& compared, CallSite site) {
  if constexpr (Nest<T>) {
    const auto words = [&component] { return mirror_words(component); };
    require_mirrored_in_processes(core, words, compared, site);
  }
}

}  // namespace belfry::detail
