// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/host_values.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/nest.h"

#include <cstdint>
#include <string>

namespace belfry::detail {

/// What processes compare of a component of a mirrored variable: the structure, with lengths and
/// shapes, and a digest of the host leaves.
struct MirrorWords {
  std::string structure;
  std::uint64_t digest = 0;
};

template <Nest T>
MirrorWords mirror_words(const T& component) {
  MirrorWords words;
  for (const LeafDescription& leaf : describe_leaves(component)) {
    words.structure += " " + leaf.path + leaf.type;
  }
  HostDigest digest;
  digest.add(component);
  words.digest = digest.value();
  return words;
}

/// Compares the new components of a mirrored variable between processes (SEM-159). Order: blocks
/// the host until all processes have called. Throws: VariableMismatchError (kMirroredDiverged) in
/// every process if the components differ; as ProcessExchange::values.
void require_mirrored_in_processes(StrategyCore& core, const MirrorWords& own,
                                   const VariableInfo& info, CallSite site);

/// The same for a component, if there are several processes.
template <class T>
void compare_between_processes(StrategyCore& core, const T& component, const VariableInfo& info,
                               CallSite site) {
  if constexpr (Nest<T>) {
    if (core.processes() == nullptr) [[likely]] {
      return;
    }
    require_mirrored_in_processes(core, mirror_words(component), info, site);
  }
}

}  // namespace belfry::detail
