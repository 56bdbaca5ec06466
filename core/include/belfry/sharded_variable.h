// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/changed_components.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/initial_value.h"
#include "belfry/detail/shard_plan.h"
#include "belfry/detail/sharded_array.h"
#include "belfry/detail/sharded_values.h"
#include "belfry/detail/update_argument.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"
#include "belfry/distributed_values.h"
#include "belfry/replica_context.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace belfry {

/// The rows of a replica: a tensor whose shape stays (SEM-281). Functions of tensors take a part in
/// place of a tensor, also to change the part in place. A copy is a tensor like any other.
template <class T>
class ShardedPart : public Tensor<T> {
 public:
  ShardedPart() = default;
  /// For belfry itself.
  explicit ShardedPart(AnyTensor any) : Tensor<T>(std::move(any)) {}
  ShardedPart(const ShardedPart& other) : Tensor<T>(other) {}
  ShardedPart(ShardedPart&& other) noexcept : Tensor<T>(std::move(other)) {}
  ~ShardedPart() = default;

  /// Replaces the rows, by a tensor of the same shape. A tensor that is on another device, or is a
  /// slice of larger memory, is copied first: the part keeps no more memory than its rows.
  /// Order: the copy is enqueued.
  /// Throws: InvalidArgumentError (kShape) for another shape, with the line of `on`,
  /// (kInvalidArgument) for a default-constructed tensor.
  ShardedPart& operator=(Tensor<T> rows) {
    if (info_ != nullptr) detail::fit_rows(*info_, component_, rows.any(), site_);
    Tensor<T>::operator=(std::move(rows));
    return *this;
  }
  ShardedPart& operator=(const ShardedPart& other) { return *this = Tensor<T>(other); }
  ShardedPart& operator=(ShardedPart&& other) noexcept {
    Tensor<T>::operator=(std::move(other));
    return *this;
  }

  /// For belfry itself: the place of the part, for checks of assignments.
  void bind(const detail::VariableInfo& info, int component, CallSite site) {
    info_ = &info;
    component_ = component;
    site_ = site;
  }
  /// For belfry itself.
  void require_rows(const detail::VariableInfo& info, int component, CallSite site) const {
    detail::require_rows_of(info, component, this->any(), site);
  }

 private:
  const detail::VariableInfo* info_ = nullptr;  // Null in copies.
  int component_ = 0;
  CallSite site_{};  // Of the latest `on`.
};

/// A tensor whose rows along an axis are shared out over the replicas, for state that one device
/// should not hold: the slots of an optimiser, large tables.
///
///     auto table = strategy.sharded_variable([] { return Tensor<float>::zeros({5, 2}); }, Axis(0),
///                                            {.name = "table"});
///     strategy.run([&](ReplicaContext& replica) {
///       scale(table.on(replica), 0.5F);                       // The own rows, in place.
///       const Tensor<float> whole = table.whole(replica);     // A merge: gathered for use.
///     });
///
/// The rows are shared out evenly; the first replicas have one row more: 5 rows on 3 replicas are
/// 2, 2 and 1. Replicas beyond the number of rows have parts without rows (SEM-280 to SEM-284).
/// `cross.update(table, fn, args...)` calls `fn(Tensor<T>&, const A&...)` for each part; arguments
/// may be sharded variables and PerReplicas: the call gets what the replica has of them.
template <class T>
class ShardedVariable : public VariableHandle<ShardedPart<T>> {
 public:
  ShardedVariable() = default;
  /// For belfry itself.
  explicit ShardedVariable(std::shared_ptr<detail::VariableState<ShardedPart<T>>> state)
      : VariableHandle<ShardedPart<T>>(std::move(state)) {}

  /// The shape of the whole. Throws: InvalidArgumentError (kVariableEmpty).
  const Shape& shape(CallSite site = CallSite::here()) const {
    return this->state(site).info.shards->whole;
  }
  /// The axis along which the rows are shared out, from 0. Throws: as shape.
  Axis axis(CallSite site = CallSite::here()) const {
    return Axis(this->state(site).info.shards->axis);
  }
  /// The numbers of the rows of `replica`: from `begin` to before `end`. Throws: as shape.
  detail::ShardRows rows(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    return this->state(site).info.shards->rows(replica.replica_id());
  }

  /// The rows of `replica`, for reading and writing (SEM-281).
  /// Order, Throws: as MirroredVariable::on; an assignment as ShardedPart.
  ShardedPart<T>& on(const ReplicaContext& replica, CallSite site = CallSite::here()) const {
    ShardedPart<T>& part = this->component_on(replica, true, site);
    const detail::VariableInfo& info = this->state(site).info;
    part.bind(info, detail::component_of(info, replica.replica_id(), site), site);
    return part;
  }
  /// The rows of all replicas, on this replica's device: a merge of all replicas (SEM-282). The
  /// memory is free when the last handle of the tensor has ended.
  /// Order, Throws: as ReplicaContext::all_gather; InvalidArgumentError (kInvalidArgument) if a
  /// replica with rows takes no part in the run.
  Tensor<T> whole(ReplicaContext& replica, detail::MergePlace place = CallSite::here()) const {
    const ShardedPart<T>& part = this->component_on(replica, false, place.site);
    const detail::VariableInfo& info = this->state(place.site).info;
    const int component = detail::component_of(info, replica.replica_id(), place.site);
    part.require_rows(info, component, place.site);
    Tensor<T> joined = replica.all_gather(Tensor<T>(part), axis(place.site), place);
    detail::require_rows_of_all(info, joined.shape(), place.site);
    return joined;
  }
};

namespace detail {
template <Element T>
struct IsTensor<ShardedPart<T>> : std::true_type {};
template <class T>
inline constexpr bool kPrints<ShardedPart<T>> = true;
template <class T>
inline constexpr bool kPrints<ShardedVariable<T>> = true;
template <class T>
struct IsVariable<ShardedVariable<T>> : std::true_type {};
template <class T>
struct IsReplicaLocal<ShardedVariable<T>> : std::true_type {};
template <class T>
struct IsSharded<ShardedVariable<T>> : std::true_type {};

template <class T>
ShardedVariable<T> make_sharded_of(StrategyCore& core, CrossReplicaContext& cross, ShardedInit init,
                                   VariableOptions options, MergePlace place) {
  using State = VariableState<ShardedPart<T>>;
  init.dtype = dtype_of<T>();
  init.type = &typeid(ShardedPart<T>);
  const auto finish = [&core](VariableInfo info,
                              std::vector<AnyTensor> parts) -> std::shared_ptr<void> {
    auto state = std::make_shared<State>();
    state->info = std::move(info);
    state->components = ReplicaArray<typename State::Padded>(static_cast<int>(parts.size()));
    for (AnyTensor& part : parts) state->components.emplace_back(ShardedPart<T>(std::move(part)));
    core.track(state);
    return state;
  };
  return ShardedVariable<T>(std::static_pointer_cast<State>(
      make_sharded_state(core, cross, init, std::move(options), place, finish)));
}

/// A sharded variable with this whole, or with the result of this function.
template <class Init>
auto make_sharded(StrategyCore& core, CrossReplicaContext& cross, const Init& init, Axis axis,
                  VariableOptions options, MergePlace place) {
  using Whole = typename InitialType<Init>::type;
  static_assert(IsTensor<Whole>::value,
                "a sharded variable is a tensor: write [] { return Tensor<float>::zeros({rows, "
                "columns}); }");
  using T = typename Whole::element_type;
  ShardedInit first;
  first.axis = axis;
  first.whole = [&init] { return Whole(initial_value(init)).any(); };
  return make_sharded_of<T>(core, cross, std::move(first), std::move(options), place);
}

/// A sharded variable whose parts are the results of `rows(begin, end)`. `first` has the shape and
/// the axis.
template <class F>
auto make_sharded_by_rows(StrategyCore& core, CrossReplicaContext& cross, ShardedInit first,
                          const F& rows, VariableOptions options, MergePlace place) {
  constexpr bool kFits = std::is_invocable_v<const F&, std::int64_t, std::int64_t>;
  static_assert(kFits,
                "sharded_variable calls rows(begin, end): write [](std::int64_t begin, "
                "std::int64_t end) { return Tensor<float>::zeros({end - begin, columns}); }");
  using Rows = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t, std::int64_t>>;
  static_assert(IsTensor<Rows>::value, "the rows of a sharded variable are a tensor");
  using T = typename Rows::element_type;
  first.rows = [&rows](std::int64_t begin, std::int64_t end) { return rows(begin, end).any(); };
  return make_sharded_of<T>(core, cross, std::move(first), std::move(options), place);
}

/// Strategy::read of a sharded variable.
template <class T>
Tensor<T> read_sharded(StrategyCore& core, CrossReplicaContext& cross,
                       const ShardedVariable<T>& variable, CallSite site) {
  const VariableState<ShardedPart<T>>& state = variable.state(site);
  require_own_value(core, state.info, site);
  require_no_rows_listen(core, state.info, "read of a sharded variable", site);
  const PerReplica<ShardedPart<T>> parts = components_here(core, state);
  core.telling_failure(site, [&] {
    int component = 0;
    for (const ShardedPart<T>& part : parts) part.require_rows(state.info, component++, site);
  });
  return cross.gather(parts, Axis(shard_axis(state.info)), site);
}

/// The parts of a variable of a checkpoint. Throws: InvalidArgumentError (kVariableEmpty).
template <class T>
std::unique_ptr<ShardedArray> sharded_array(const ShardedVariable<T>& variable, CallSite site) {
  variable.state(site);
  const auto& state = variable.shared_state();
  const auto part = [state = state.get()](int component) -> AnyTensor& {
    return state->components[component].value.any();
  };
  return std::make_unique<ShardedArray>(state, part);
}

}  // namespace detail
}  // namespace belfry
