// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/component.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/verb.h"
#include "belfry/replica_context.h"
#include "belfry/strategy.h"

#include <string_view>
#include <type_traits>
#include <utility>

/// Parameter types of the functions of `belfry/tower.h`. An object is made at the call of a
/// function and knows the call site; a default argument cannot follow a parameter pack.
namespace belfry::tower {

/// A strategy or its cross-tower context, and the place of the call.
struct CrossTower {
  /// Any of both stands for the context of the strategy.
  CrossTower(Strategy& strategy, CallSite where = CallSite::here())  // NOLINT: implicit.
      : cross(strategy.cross_replica()), site(where) {}
  CrossTower(CrossReplicaContext& context, CallSite where = CallSite::here())  // NOLINT: implicit.
      : cross(context), site(where) {}

  CrossReplicaContext& cross;  ///< The context of the verb.
  CallSite site;               ///< The call.
};

/// A tower's context and the place of the call.
struct InTower {
  /// The context of the tower.
  InTower(ReplicaContext& context, CallSite where = CallSite::here())  // NOLINT: implicit.
      : replica(context), site(where) {}

  ReplicaContext& replica;  ///< The context of the replica.
  CallSite site;            ///< The call.
};

/// A strategy, by itself or by a context, for a property.
struct OfStrategy {
  /// Any of the three names the strategy.
  OfStrategy(const Strategy& of) : strategy(of) {}                              // NOLINT: implicit.
  OfStrategy(const CrossReplicaContext& cross) : strategy(cross.strategy()) {}  // NOLINT: implicit.
  OfStrategy(const ReplicaContext& replica) : strategy(replica.strategy()) {}   // NOLINT: implicit.

  const Strategy& strategy;  ///< The strategy.
};

namespace detail {
/// Throws: ContextError (kWrongContext) unless the tower is current (SEM-14).
void require_current(const ReplicaContext& tower, CallSite site);
}  // namespace detail

/// A strategy, by name or by the current context, and the place of the call, for scopes and
/// variables.
/// Throws: ContextError (kWrongContext) for the context of a waiting tower.
struct Around {
  /// Any of the three names the strategy.
  Around(Strategy& of, CallSite where = CallSite::here())  // NOLINT: implicit.
      : strategy(of), site(where) {}
  Around(const CrossReplicaContext& cross, CallSite where = CallSite::here())  // NOLINT: implicit.
      : strategy(cross.strategy()), site(where) {}
  Around(const ReplicaContext& tower, CallSite where = CallSite::here())  // NOLINT: implicit.
      : strategy(tower.strategy()), site(where) {
    detail::require_current(tower, where);
  }

  Strategy& strategy;  ///< The strategy.
  CallSite site;       ///< The call.
};

/// A reduction by its name or as a ReduceOp.
/// Throws: InvalidArgumentError (kInvalidArgument).
struct Method {
  /// The operator itself.
  Method(ReduceOp reduction) : op(reduction) {}  // NOLINT: implicit.
  /// Any text: the conversion of a std::string to a view would be a second conversion of the
  /// argument, and a call allows a single conversion.
  template <class Name>
    requires std::is_convertible_v<const Name&, std::string_view>
  Method(const Name& name, CallSite where = CallSite::here())  // NOLINT: implicit.
      : op(parse_reduce_op(name, where)) {}

  ReduceOp op;  ///< The operator.
};

namespace detail {

using namespace belfry::detail;  // NOLINT: the same folder by another name.

/// Calls `fn` with the tower's context if `fn` has a parameter for the context, else without: `fn`
/// finds the context with get_tower_context.
template <class F, class... Args>
auto run_in_towers(const CrossTower& at, bool concurrent, const F& fn, const Args&... args) {
  using WithContext = ReplicaFunctionCall<F, Args...>;
  using Alone = FunctionCall<const F, const ComponentOf<Args>&...>;
  static_assert(!WithContext::refuses() || !Alone::refuses(),
                "the function of a tower is called as fn(TowerContext&, const A&...) or fn(const "
                "A&...): write [&](TowerContext& tower, const A& a) {...}, with an A for each "
                "argument behind the function; a distributed argument gives its component");
  const RunOptions options{.concurrent = concurrent, .site = at.site};
  if constexpr (is_made<WithContext>()) {
    return at.cross.run_at(options, fn, args...);
  } else if constexpr (is_made<Alone>()) {
    const auto without_context = [&fn](ReplicaContext&, const ComponentOf<Args>&... own) {
      return fn(own...);
    };
    return at.cross.run_at(options, without_context, args...);
  } else if constexpr (WithContext::is_broken()) {
    return WithContext::unmade();
  } else {
    return Alone::no_result();
  }
}

/// The MEAN of a value that is the same everywhere is the value.
/// Throws: InvalidArgumentError (kSumOfMirrored) for any other method.
void require_mean_of_mirrored(ReduceOp op, CallSite site);

}  // namespace detail
}  // namespace belfry::tower
