// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/function_call.h"

/// Verbs where a reader may look for them and they are not: a call does not compile, and the first
/// error says what to write.
namespace belfry::detail {

template <class... A>
inline constexpr bool kIsHere = false;

/// Verbs of merge functions and of strategies, called on a replica. Some return a value of the type
/// that the reader expects: the compiler has nothing to say about uses of the result.
class NotOnReplicas {
 public:
  template <class Op, class T, class... A>
  T reduce(const Op&, const T& value, const A&...) const {
    static_assert(kIsHere<T>, "a replica reduces with the others: write all_reduce(op, value)");
    return value;
  }
  template <class... A>
  Refused batch_reduce(const A&...) const {
    static_assert(kIsHere<A...>,
                  "a replica reduces several values at once as one: write all_reduce(op, "
                  "std::tuple(a, b))");
    return {};
  }
  template <class T, class... A>
  T gather(const T& value, const A&...) const {
    static_assert(kIsHere<T>, "a replica gathers with the others: write all_gather(value)");
    return value;
  }
  template <class... A>
  Refused update(const A&...) const {
    static_assert(
        kIsHere<A...>,
        "replicas update a variable together: write replica.merge_call([&](CrossReplicaContext& "
        "cross) { cross.update(variable, fn, args...); }), or replica.assign_sub(variable, "
        "value) for a variable with an aggregation");
    return {};
  }
  template <class... A>
  Refused update_each(const A&... a) const {
    return update(a...);
  }
  template <class... A>
  Refused update_non_slot(const A&... a) const {
    return update(a...);
  }
  template <class... A>
  Refused fetch(const A&...) const {
    static_assert(kIsHere<A...>, "a replica has its component: write variable.on(replica)");
    return {};
  }
  template <class V, class... A>
  typename V::value_type read(const V&, const A&...) const {
    static_assert(kIsHere<V>, "a replica reads its component: write variable.on(replica)");
    return Refused();
  }
  template <class... A>
  Refused run(const A&...) const {
    static_assert(
        kIsHere<A...>,
        "a strategy runs: write replica.strategy().run(fn, args...) for a run inside a merge "
        "function");
    return {};
  }
};

/// Verbs of replicas and of strategies, called in a merge function.
class NotInMerges {
 public:
  template <class... A>
  Refused all_reduce(const A&...) const {
    static_assert(kIsHere<A...>, "a merge function has all components: write reduce(op, values)");
    return {};
  }
  template <class... A>
  Refused all_gather(const A&...) const {
    static_assert(kIsHere<A...>, "a merge function has all components: write gather(values)");
    return {};
  }
  template <class... A>
  Refused merge_call(const A&...) const {
    static_assert(
        kIsHere<A...>,
        "a merge function runs once, for all replicas: call the function, merge_call is for "
        "replicas");
    return {};
  }
};

/// Verbs of contexts, called on a strategy.
class NotOnStrategies {
 public:
  template <class... A>
  Refused reduce(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused batch_reduce(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused broadcast(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused gather(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused update(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused update_each(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused update_non_slot(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused fetch(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused group(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused map(const A&...) const {
    return of_cross_replica_contexts<A...>();
  }
  template <class... A>
  Refused all_reduce(const A&...) const {
    return of_replicas<A...>();
  }
  template <class... A>
  Refused all_gather(const A&...) const {
    return of_replicas<A...>();
  }
  template <class... A>
  Refused merge_call(const A&...) const {
    return of_replicas<A...>();
  }

 private:
  template <class... A>
  static Refused of_cross_replica_contexts() {
    static_assert(kIsHere<A...>,
                  "this is a verb of the cross-replica context: write strategy.cross_replica() in "
                  "place of strategy");
    return {};
  }
  template <class... A>
  static Refused of_replicas() {
    static_assert(
        kIsHere<A...>,
        "this is a verb of replicas: call it in strategy.run([&](ReplicaContext& replica) "
        "{ ... }), on the replica");
    return {};
  }
};

}  // namespace belfry::detail
