// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/shape.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The list of a replica in a gather of lists. The elements stay where they are.
struct GatheredList {
  int replica = 0;
  int axis = 0;
  std::size_t count = 0;  ///< Of elements.
  std::shared_ptr<const std::byte> elements{};
};

/// A gather of lists whose elements are copied byte by byte.
struct ListsGather {
  const char* verb = "";              ///< A literal: `all_gather`.
  std::vector<GatheredList> lists{};  ///< Of the replicas of this process that take part.
  std::size_t element_bytes = 1;
  CallSite site{};
};

/// Makes room for so many elements of the result. Shared: a failed exchange may still write.
using MakeRoom = FunctionRef<std::shared_ptr<std::byte>(std::size_t)>;

/// Joins the lists of the replicas of all processes, in replica order, in room that `make_room`
/// makes once. Over processes one exchange has the lists, and a list is freed when it is in the
/// message. If the group exchanges parts, the exchange has short lists and the lengths of long
/// lists, which then go from their memory to the room of each process without a copy between.
/// Order: blocks the host until all processes have called.
/// Throws: StructureMismatchError (kStructure) if axes differ; InvalidArgumentError (kShape) for an
/// axis out of range; exceptions of `make_room`; as RoundMembers::exchange.
void gather_lists(StrategyCore& core, ListsGather gather, MakeRoom make_room);

/// Memory of a list as elements of the list.
template <class E>
std::shared_ptr<std::byte> elements_in(const std::shared_ptr<std::vector<E>>& list) {
  return {list, reinterpret_cast<std::byte*>(list->data())};
}

/// The joined lists of `gather`, whose elements are of type E.
template <class E>
std::shared_ptr<std::vector<E>> joined_lists(StrategyCore& core, ListsGather gather) {
  const auto joined = std::make_shared<std::vector<E>>();
  const auto make_room = [&](std::size_t count) {
    joined->resize(count);
    return elements_in(joined);
  };
  gather_lists(core, std::move(gather), make_room);
  return joined;
}

/// The components of the replicas of all processes, joined in replica order.
template <class E>
std::vector<E> gather_list(StrategyCore& core, const PerReplica<std::vector<E>>& value, Axis axis,
                           CallSite site) {
  std::vector<GatheredList> lists;
  for (int i = 0; i < value.present().count(); ++i) {
    const int replica = value.present().id(i);
    if (!core.own().has(replica)) continue;
    // Nobody shares the components of `value`.
    const auto list = std::make_shared<std::vector<E>>(value[replica]);
    lists.push_back({replica, axis.value, list->size(), elements_in(list)});
  }
  return std::move(*joined_lists<E>(core, {"gather", std::move(lists), sizeof(E), site}));
}

}  // namespace belfry::detail
