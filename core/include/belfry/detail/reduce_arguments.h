// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/destination.h"
#include "belfry/detail/component.h"
#include "belfry/distributed_values.h"
#include "belfry/reduce_op.h"
#include "belfry/shape.h"

#include <cstdint>
#include <type_traits>

/// Tests of the arguments of `CrossReplicaContext::reduce`. A call that fits no overload is refused
/// with one message, in place of the compiler's list of all overloads.
namespace belfry::detail {

/// A mistake in the arguments of a reduction.
enum class ReduceMistake : std::uint8_t {
  kNone,
  kNoOperator,   ///< The values come first.
  kVariable,     ///< A variable in place of values.
  kPlain,        ///< A value that is not distributed.
  kMirrored,     ///< A Mirrored with a reduction of the user's.
  kDestination,  ///< Neither destination nor axis.
};

/// As kIsNot of belfry/detail/device_function.h.
template <ReduceMistake found, ReduceMistake tested>
inline constexpr bool kIsNotReduce = found != tested;

/// Whether V is a PerReplica or a Mirrored, or a class derived from one of the two.
template <class V>
concept ReducedValues = requires(const V& value) { []<class T>(const PerReplica<T>&) {}(value); } ||
                        requires(const V& value) { []<class T>(const Mirrored<T>&) {}(value); };

/// Whether an argument may follow the values of a reduction.
template <class A>
constexpr bool follows_values() {
  return std::is_convertible_v<const A&, CallSite> || std::is_same_v<A, Axis> ||
         is_destination<A>();
}

/// The mistake in `reduce(op, values, after...)`, with the types of the arguments.
template <class Op, class V = void, class... After>
constexpr ReduceMistake mistake_in_reduce() {
  if constexpr (ReducedValues<Op> || IsVariable<Op>::value) {
    return ReduceMistake::kNoOperator;
  } else if constexpr (std::is_void_v<V>) {
    return ReduceMistake::kNone;
  } else if constexpr (IsVariable<V>::value) {
    return ReduceMistake::kVariable;
  } else if constexpr (!ReducedValues<V>) {
    return ReduceMistake::kPlain;
  } else if constexpr (IsDistributed<V>::value && !IsPerReplica<V>::value &&
                       !std::is_convertible_v<Op, ReduceOp>) {
    return ReduceMistake::kMirrored;
  } else {
    return (follows_values<After>() && ...) ? ReduceMistake::kNone : ReduceMistake::kDestination;
  }
}

}  // namespace belfry::detail
