// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/component.h"
#include "belfry/detail/on_replicas.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/shown_values.h"
#include "belfry/detail/strategy/options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace belfry {

class CrossReplicaContext;
class Strategy;

namespace detail {

/// The place of a merge: its call site and, if the call has a tag, the tag. Verbs that merge have a
/// place as their last parameter; call sites and tags convert to places implicitly. The tag lies on
/// the stack of the replica that waits, and outlives the merge.
struct MergePlace {
  MergePlace(CallSite where = {}) : site(where) {}                      // NOLINT: implicit.
  MergePlace(const char* file, int line) : site{file, line} {}          // NOLINT: `{file, line}`.
  MergePlace(const MergeTag& named) : site(named.site), tag(&named) {}  // NOLINT: implicit.

  CallSite site;
  const MergeTag* tag = nullptr;
};

enum class MergeKind {
  kMergeCall,
  kAllReduce,
  kAllGather,
  kAssign,
  kScatter,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kPermute,
  kScatterFrom,
  kGatherTo,
};

/// The name of the verb: `merge_call`, `all_reduce`.
const char* to_string(MergeKind kind);

struct MergeRequest;

/// Kind and tag of a merge, for messages: `all_reduce`, `all_reduce "weight"`.
std::string name_of(const MergeRequest& request);
/// A tag in messages: nothing, or a space and the name in quotes.
std::string text_of(const MergeTag* tag);

/// The common part of all requests of an instantiation; the rendezvous compares addresses.
struct MergeType {
  MergeKind kind;
  const char* types;  ///< The compiler's spelling of the argument types, for messages.
  /// `requests` are indexed by replica id and null for replicas that take no part. `functions` is
  /// the replica whose function runs, which takes part (SEM-135).
  void (*execute)(CrossReplicaContext& cross, MergeRequest* const* requests,
                  const Participants& present, int functions);
  /// The subject of a request, if the kind does not say all; may be null.
  std::string (*describe)(const MergeRequest& request) = nullptr;
  /// Shows the values that the replica brings, or, with `results`, gets; may be null.
  void (*show)(const MergeRequest& request, bool results, ValueVisitor& visitor) = nullptr;
  /// The number of the variable that the merge changes; null: none.
  std::uint64_t (*variable)(const MergeRequest& request) = nullptr;
};

/// The request of a paused replica: pointers into the stack of the replica.
struct MergeRequest {
  const MergeType* type;
  CallSite site;
  const MergeTag* tag = nullptr;        ///< Takes the place of the site, if there is one.
  const void* identity = nullptr;       ///< A function or a variable all replicas must agree on.
  const Participants* group = nullptr;  ///< The members that meet; null: all replicas.
};

template <class... T>
constexpr const char* spelling() {
  return __PRETTY_FUNCTION__;
}

/// The address of a plain function, so that replicas which pass different ones are told apart.
template <class F>
const void* identity_of(const F& fn) {
  if constexpr (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) {
    return reinterpret_cast<const void*>(fn);
  } else {
    return nullptr;
  }
}

/// The strategy of a context.
Strategy& strategy_of(CrossReplicaContext& cross);

/// The type that a replica receives for a result of merge_fn.
template <class Returned>
struct MergeResult : Component<OnReplicas<Returned>> {};
template <>
struct MergeResult<void> {
  using type = std::monostate;
};

/// One replica's merge_call. `Args` are deduced as forwarding references: lvalues are copied into
/// the merge, rvalues moved.
template <MergeKind Kind, class F, class... Args>
struct MergeCall : MergeRequest {
  static_assert(MergeFunctionCall<F, Args...>::fits(),
                "merge_fn is called as merge_fn(CrossReplicaContext&, const PerReplica<A>&...): "
                "one PerReplica for each argument of merge_call, variables as they are");
  using First = MergeFirst<F, Args...>;
  using Returned =
      std::invoke_result_t<const F&, First&, const Grouped<std::remove_cvref_t<Args>>&...>;
  static constexpr bool kVoid = std::is_void_v<Returned>;
  using Result = typename MergeResult<std::remove_cvref_t<Returned>>::type;

  MergeCall(MergePlace where, const F& function, Args&... values)
      : MergeRequest{&kType, where.site, where.tag, identity_of(function)},
        fn(&function),
        args(&values...) {}

  static void execute(CrossReplicaContext& cross, MergeRequest* const* requests,
                      const Participants& present, int functions) {
    execute_with(cross, requests, present, functions, std::index_sequence_for<Args...>());
  }

  static constexpr auto describer() -> std::string (*)(const MergeRequest&) {
    if constexpr (requires(const F& described) { described.describe_merge(); }) {
      return [](const MergeRequest& request) {
        return static_cast<const MergeCall&>(request).fn->describe_merge();
      };
    } else {
      return nullptr;
    }
  }

  static constexpr auto variable_of() -> std::uint64_t (*)(const MergeRequest&) {
    if constexpr (requires(const F& change) { change.describe_merge(), change.info.number; }) {
      return [](const MergeRequest& request) {
        return static_cast<const MergeCall&>(request).fn->info.number;
      };
    } else {
      return nullptr;
    }
  }

  static void show(const MergeRequest& request, bool results, ValueVisitor& visitor) {
    const auto& own = static_cast<const MergeCall&>(request);
    if (results) {
      if constexpr (!kVoid) {
        if (own.result) show_value(*own.result, "", visitor);
      }
      return;
    }
    int index = 0;
    const auto path = [&] {
      return sizeof...(Args) == 1 ? std::string() : "[" + std::to_string(index++) + "]";
    };
    std::apply([&](const auto*... values) { (show_value(*values, path(), visitor), ...); },
               own.args);
  }

  static constexpr MergeType kType{
      Kind, spelling<std::remove_cvref_t<Args>...>(), &execute, describer(), &show, variable_of()};

  const F* fn;
  std::tuple<std::remove_reference_t<Args>*...> args;
  std::optional<Result> result{};

 private:
  static First& first_argument(CrossReplicaContext& cross) {
    if constexpr (std::is_same_v<First, Strategy>) {
      return strategy_of(cross);
    } else {
      return cross;
    }
  }

  static MergeCall& at(MergeRequest* const* requests, int replica) {
    return static_cast<MergeCall&>(*requests[replica]);
  }

  // Room for one argument of a few replicas: small merges allocate nothing. merge_fn gets constant
  // references, so that nothing it keeps can point here.
  template <std::size_t I>
  struct Room {
    using Value = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<Args...>>>;
    static constexpr int kReplicas = static_cast<int>(512 / sizeof(Value));
    alignas(Value) std::byte bytes[std::max(sizeof(Value) * kReplicas, std::size_t{1})];
  };
  template <std::size_t... I>
  struct Rooms : Room<I>... {};

  template <std::size_t I>
  static auto group(MergeRequest* const* requests, const Participants& present, int functions,
                    Room<I>& room) {
    using Arg = std::tuple_element_t<I, std::tuple<Args...>>;
    using Value = std::remove_cvref_t<Arg>;
    if constexpr (std::is_same_v<Grouped<Value>, PerReplica<Value>>) {
      const int count = present.count();
      auto values = count <= Room<I>::kReplicas ? ReplicaArray<Value>(room.bytes, count)
                                                : ReplicaArray<Value>(count);
      for (int i = 0; i < count; ++i) {
        values.emplace_back(static_cast<Arg&&>(*std::get<I>(at(requests, present.id(i)).args)));
      }
      return PerReplica<Value>(std::move(values), present);
    } else {
      return Value(*std::get<I>(at(requests, functions).args));
    }
  }

  // Gives each replica its part of the result.
  template <class Value>
  static void hand_out(MergeRequest* const* requests, const Participants& present,
                       const Value& value, CallSite site) {
    require_replicas_of(value, present.replicas(), site);
    for (int i = 0; i < present.count(); ++i) {
      const int replica = present.id(i);
      at(requests, replica).result.emplace(component(value, replica));
    }
  }

  template <std::size_t... I>
  static void execute_with(CrossReplicaContext& cross, MergeRequest* const* requests,
                           const Participants& present, int functions, std::index_sequence<I...>) {
    const F& fn = *at(requests, functions).fn;
    [[maybe_unused]] Rooms<I...> rooms;
    const std::tuple<Grouped<std::remove_cvref_t<Args>>...> grouped{
        group<I>(requests, present, functions, static_cast<Room<I>&>(rooms))...};
    if constexpr (kVoid) {
      fn(first_argument(cross), std::get<I>(grouped)...);
    } else {
      const std::remove_cvref_t<Returned> returned =
          fn(first_argument(cross), std::get<I>(grouped)...);
      const CallSite site = at(requests, present.id(0)).site;
      if constexpr (holds_mirrored_on<std::remove_cvref_t<Returned>>()) {
        hand_out(requests, present, on_replicas(cross, returned, present, site), site);
      } else {
        hand_out(requests, present, returned, site);
      }
    }
  }
};

}  // namespace detail
}  // namespace belfry
