// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/host_values.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/process_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/nest.h"
#include "belfry/tensor.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::detail {

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
/// (SEM-159). Order: blocks the host until all processes have called. Throws: VariableMismatchError
/// (kMirroredDiverged) in every process if the processes differ; as ProcessExchange::values.
void require_mirrored_in_processes(StrategyCore& core, const MirrorWords& own,
                                   const ProcessComparison& compared, CallSite site);

/// The same for a component, if there are several processes. Order: blocks the host until the
/// tensors of the component are computed. Throws: also DeviceError, and then PeerFailedError in the
/// other processes.
template <class T>
void compare_between_processes(StrategyCore& core, const T& component,
                               const ProcessComparison& compared, CallSite site) {
  if constexpr (Nest<T>) {
    if (core.processes() == nullptr) [[likely]] {
      return;
    }
    MirrorWords words;
    try {
      words = mirror_words(component);
    } catch (...) {
      tell_failed_work(core, site);
      throw;
    }
    require_mirrored_in_processes(core, words, compared, site);
  }
}

}  // namespace belfry::detail
