// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/destination.h"
#include "belfry/detail/components_in.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/error.h"
#include "belfry/nest.h"

#include <cstddef>
#include <exception>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// An error about the structure or the element types of a value, with the index of the value in its
/// batch: ` in value 2 of the batch`. Exceptions about anything else are returned unchanged.
std::exception_ptr in_value_of_batch(std::exception_ptr error, std::size_t value);

/// Values that are reduced in one call: one reduction of the strategy for all values with the same
/// participants.
class ReductionBatch {
 public:
  /// The leaves, in words, of the value with this index.
  using ValueWords = FunctionRef<std::vector<LeafDescription>(std::size_t)>;

  /// The lists to which the next value, with these participants, appends its leaves, a list for
  /// each participant. Valid until the next call.
  std::vector<std::vector<LeafRef>>& parts_of(const Participants& present, bool has_tensors);
  /// The index of the last value.
  std::size_t last_value() const { return values_ - 1; }
  /// Throws: as reduce_at, with the index of the value.
  void reduce(StrategyCore& core, ReduceOp op, CallSite site, ValueWords describe) const;

 private:
  struct Group {
    Participants present;
    bool has_tensors = false;
    std::vector<std::vector<LeafRef>> parts{};
    std::vector<std::size_t> values{};  // Their indices, in the order of their leaves.

    std::string place_of(std::size_t leaf, ValueWords describe) const;
  };

  std::vector<Group> groups_;
  std::size_t values_ = 0;
};

/// A value with an optional, already checked destination.
template <class V>
struct BatchMember;

template <Nest T>
struct BatchMember<PerReplica<T>> {
  BatchMember(StrategyCore& core, const PerReplica<T>& member, CallSite site) : value(member) {
    require_replicas(core, value.size(), site);
  }
  Mirrored<T> result(StrategyCore& core, ReducedValue<T>& reduced) const {
    return reduced.result(core);
  }

  const PerReplica<T>& value;
};

template <Nest T, Destination D>
struct BatchMember<std::pair<PerReplica<T>, D>> {
  BatchMember(StrategyCore& core, const std::pair<PerReplica<T>, D>& member, CallSite site)
      : value(member.first), devices(destination_of(core, member.second, site)) {
    require_replicas(core, value.size(), site);
  }
  MirroredOn<T> result(StrategyCore& core, ReducedValue<T>& reduced) const {
    return place(core, reduced.result(core), devices);
  }

  const PerReplica<T>& value;
  std::vector<int> devices;
};

template <class T>
void append_to(ReductionBatch& batch, const PerReplica<T>& value, ReducedValue<T>& reduced,
               CallSite site) {
  try {
    reduced.append_to(batch.parts_of(value.present(), has_tensor<T>()), site);
  } catch (const Error&) {
    std::rethrow_exception(in_value_of_batch(std::current_exception(), batch.last_value()));
  }
}

/// The leaves of member number `index` in words.
template <class... M>
std::vector<LeafDescription> describe_member(std::size_t index, const M&... members) {
  std::vector<LeafDescription> words;
  [[maybe_unused]] std::size_t next = 0;
  const auto visit = [&](const auto& member) {
    if (next++ == index) words = describe_leaves(*member.value.begin());
  };
  (visit(members), ...);
  return words;
}

template <class... V>
auto batch_reduce(StrategyCore& core, ReduceOp op, CallSite site, const V&... values) {
  const std::tuple<BatchMember<V>...> members{BatchMember<V>(core, values, site)...};
  return std::apply(
      [&](const auto&... member) {
        std::tuple reduced{ReducedValue(core, member.value, site)...};
        return std::apply(
            [&](auto&... own) {
              ReductionBatch batch;
              (append_to(batch, member.value, own, site), ...);
              const auto describe = [&](std::size_t i) { return describe_member(i, member...); };
              batch.reduce(core, op, site, describe);
              // Braces, so that copies are enqueued in order.
              return std::tuple<decltype(member.result(core, own))...>{member.result(core, own)...};
            },
            reduced);
      },
      members);
}

template <Nest T, Destination D>
std::vector<MirroredOn<T>> batch_reduce(StrategyCore& core, ReduceOp op, CallSite site,
                                        const std::vector<std::pair<PerReplica<T>, D>>& pairs) {
  std::vector<BatchMember<std::pair<PerReplica<T>, D>>> members;
  members.reserve(pairs.size());
  for (const auto& pair : pairs) members.emplace_back(core, pair, site);
  std::vector<ReducedValue<T>> reduced;
  reduced.reserve(members.size());
  for (const auto& member : members) reduced.emplace_back(core, member.value, site);

  ReductionBatch batch;
  for (std::size_t i = 0; i < members.size(); ++i) {
    append_to(batch, members[i].value, reduced[i], site);
  }
  const auto describe = [&](std::size_t i) { return describe_leaves(*members[i].value.begin()); };
  batch.reduce(core, op, site, describe);
  std::vector<MirroredOn<T>> results;
  results.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    results.push_back(members[i].result(core, reduced[i]));
  }
  return results;
}

// The same over several processes: each member in an exchange of its own.

template <class Cross, class T>
Mirrored<T> reduce_member(Cross& cross, CallSite site, ReduceOp op, const PerReplica<T>& member) {
  return cross.reduce(op, member, site);
}
template <class Cross, class T, class D>
MirroredOn<T> reduce_member(Cross& cross, CallSite site, ReduceOp op,
                            const std::pair<PerReplica<T>, D>& member) {
  return cross.reduce(op, member.first, member.second, site);
}
template <class Cross, class V>
auto reduce_value_of_batch(std::size_t index, Cross& cross, CallSite site, ReduceOp op,
                           const V& member) {
  try {
    return reduce_member(cross, site, op, member);
  } catch (const Error&) {
    std::rethrow_exception(in_value_of_batch(std::current_exception(), index));
  }
}
template <class Cross, class T, class D>
std::vector<MirroredOn<T>> reduce_one_by_one(
    Cross& cross, CallSite site, ReduceOp op,
    const std::vector<std::pair<PerReplica<T>, D>>& pairs) {
  std::vector<MirroredOn<T>> results;
  for (const auto& pair : pairs) {
    results.push_back(reduce_value_of_batch(results.size(), cross, site, op, pair));
  }
  return results;
}
template <class Cross, class... V>
auto reduce_one_by_one(Cross& cross, CallSite site, ReduceOp op, const V&... values) {
  [[maybe_unused]] std::size_t next = 0;
  const auto reduce_next = [&](const auto& value) {
    return reduce_value_of_batch(next++, cross, site, op, value);
  };
  // Braces, so that values are reduced in order.
  return std::tuple<decltype(reduce_member(cross, site, op, values))...>{reduce_next(values)...};
}

}  // namespace belfry::detail
