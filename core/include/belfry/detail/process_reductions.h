// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/nest_traits.h"
#include "belfry/detail/process_tensors.h"
#include "belfry/detail/process_values.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"

#include <optional>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// The tensors of a value, none if a replica of this process has no component: a communicator takes
/// a part of every replica.
template <class T>
std::vector<const AnyTensor*> tensors_to_join(const StrategyCore& core,
                                              const PerReplica<T>& value) {
  std::vector<const AnyTensor*> tensors;
  for (int i = 0; i < core.own().count(); ++i) {
    if (!value.has(core.own().id(i))) return {};
  }
  for (const T& component : value) {
    for_each_leaf(component, [&](const auto& leaf) {
      if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
        tensors.push_back(&leaf.any());
      }
    });
  }
  return tensors;
}

/// gather_components_of_processes for a reduction by an operator: tensors of other processes have
/// no elements here if their elements stay on the devices (SEM-215).
template <class T>
PerReplica<T> gather_components_to_reduce(StrategyCore& core, const char* what,
                                          const PerReplica<T>& value, CallSite site) {
  if constexpr (!is_sent<T>() || !has_tensor<T>()) {
    return gather_components_of_processes(core, what, value, site);
  } else {
    std::optional<T> like;
    try {
      like.emplace(like_components(value, what, site));
    } catch (...) {
      tell_failed_work(core, site);
      throw;
    }
    const auto write = [&](ByteWriter& out, Elements elements) {
      for (const int replica : send_present(out, core, value.present())) {
        send_value(out, value[replica], elements);
      }
    };
    ReducedMessages sent =
        exchange_to_reduce(core, what, site, tensors_to_join(core, value), write);
    return received_components(core, what, value, *like, sent.messages, site);
  }
}

/// of_all_processes for a reduction by an operator.
template <class T, class F>
decltype(auto) of_all_processes_to_reduce(StrategyCore& core, const char* what,
                                          const PerReplica<T>& value, CallSite site, const F& fn) {
  if (core.processes() == nullptr) [[likely]] {
    return fn(value);
  }
  return fn(gather_components_to_reduce(core, what, value, site));
}

}  // namespace belfry::detail
