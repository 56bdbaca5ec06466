// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/device_function.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/device_spec.h"

#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The function of a context that each verb calls. The function takes the call site first, then the
/// arguments of the verb.
namespace calls {

struct Call {
  struct NoBraces {
    NoBraces() = delete;
  };
  /// The type of a first argument in braces.
  using First = NoBraces;
  /// Whether an argument of type First holds the call site, so that any number of arguments may
  /// follow.
  static constexpr bool kFirstHasSite = false;
};

struct Run : Call {
  using First = RunOptions;
  static constexpr bool kFirstHasSite = true;
  static decltype(auto) at(auto& self, const auto& place, const auto& fn, const auto&... a) {
    using FnCall = ReplicaFunctionCall<decltype(fn), decltype(a)...>;
    constexpr bool kTakesArguments = !FnCall::refuses();
    static_assert(kTakesArguments,
                  "the replica function is called as fn(ReplicaContext&, const A&...): write "
                  "[&](ReplicaContext& replica, const A& a) {...}, with an A for each argument of "
                  "run behind the function; a distributed argument gives its component");
    if constexpr (is_made<FnCall>()) {
      return self.run_at(place, fn, a...);
    } else {
      return FnCall::no_result();
    }
  }
};
struct MergeCall : Call {
  using First = MergeTag;
  static constexpr bool kFirstHasSite = true;
  static decltype(auto) at(auto& self, const auto& place, auto&& fn, auto&&... a) {
    using FnCall = MergeFunctionCall<decltype(fn), decltype(a)...>;
    constexpr bool kTakesArguments = !FnCall::refuses();
    static_assert(kTakesArguments,
                  "merge_fn is called as merge_fn(CrossReplicaContext&, const PerReplica<A>&...): "
                  "write [&](CrossReplicaContext& cross, const PerReplica<A>& a) {...}, with a "
                  "PerReplica<A> for each argument of merge_call behind the function");
    constexpr bool kIsSharedOut = is_shared_out<FnCall>();
    static_assert(kIsSharedOut,
                  "merge_fn returns a value that cannot be copied, and each replica gets a copy: "
                  "return, for example, a std::shared_ptr in place of a std::unique_ptr");
    if constexpr (is_made<FnCall>() && kIsSharedOut) {
      return self.merge_call_at(place, std::forward<decltype(fn)>(fn),
                                std::forward<decltype(a)>(a)...);
    } else if constexpr (FnCall::fits()) {
      return refused<ComponentOf<std::remove_cvref_t<ResultOf<FnCall>>>>();
    } else {
      return FnCall::no_result();
    }
  }
};
struct BatchReduce : Call {
  static decltype(auto) at(auto& self, CallSite site, const auto& op, const auto&... values) {
    constexpr bool kNests = (kInBatch<std::remove_cvref_t<decltype(values)>> && ...);
    static_assert(kNests,
                  "batch_reduce takes nests, and structures list their members: write static auto "
                  "members(auto& self) { return std::tie(self.first, self.second); } in each");
    if constexpr (kNests) {
      return self.batch_reduce_at(site, op, values...);
    } else {
      return Refused();
    }
  }
};
struct Update : Call {
  using First = UpdateOptions;
  static constexpr bool kFirstHasSite = true;
  static decltype(auto) at(auto& self, const auto& place, auto&&... a) {
    constexpr Mistake kMistake = mistake_in_update<std::remove_cvref_t<decltype(a)>...>();
    static_assert(kIsNot<kMistake, Mistake::kFirst>,
                  "update changes a variable: write update(variable, [&](T& component, const A& "
                  "a) {...}, a)");
    static_assert(kIsNot<kMistake, Mistake::kPerReplica>,
                  "update takes Mirrored or plain arguments: reduce a PerReplica first");
    static_assert(kIsNot<kMistake, Mistake::kReplicaLocal>,
                  "update and map take no replica-local variable as an argument: read it first");
    static_assert(kIsNot<kMistake, Mistake::kFunction>,
                  "the function of update is called as fn(T&, const A&...): write [&](T& "
                  "component, const A& a) {...}, with an A for each argument of update behind the "
                  "function");
    static_assert(kIsNot<kMistake, Mistake::kCopy>,
                  "the function of update must take the component as T&: it changes a copy here");
    if constexpr (kMistake == Mistake::kNone) {
      return self.update_at(place, std::forward<decltype(a)>(a)...);
    } else if constexpr (kMistake == Mistake::kBroken) {
      return UpdateFunctionCall<std::remove_cvref_t<decltype(a)>...>::unmade();
    } else {
      return Refused();
    }
  }
};
struct UpdateEach : Call {
  using First = UpdateOptions;
  static constexpr bool kFirstHasSite = true;
  static decltype(auto) at(auto& self, const auto& place, auto&&... a) {
    constexpr Mistake kMistake = mistake_in_update_each<std::remove_cvref_t<decltype(a)>...>();
    static_assert(kIsNot<kMistake, Mistake::kFirst>,
                  "update_each changes a variable: write update_each(variable, [&](T& component, "
                  "const A& a) {...}, a)");
    static_assert(kIsNot<kMistake, Mistake::kPerReplica>,
                  "update takes Mirrored or plain arguments: reduce a PerReplica first");
    static_assert(kIsNot<kMistake, Mistake::kReplicaLocal>,
                  "update and map take no replica-local variable as an argument: read it first");
    static_assert(kIsNot<kMistake, Mistake::kFunction>,
                  "the function of update_each is called as fn(T&, const A&...): write [&](T& "
                  "component, const A& a) {...}, with an A for each argument of update_each "
                  "behind the function");
    static_assert(
        kIsNot<kMistake, Mistake::kNoResult>,
        "update_each is for functions that return something: write update for all others");
    if constexpr (kMistake == Mistake::kNone) {
      return self.update_each_at(place, std::forward<decltype(a)>(a)...);
    } else if constexpr (kMistake == Mistake::kBroken) {
      return UpdateFunctionCall<std::remove_cvref_t<decltype(a)>...>::unmade();
    } else {
      return Refused();
    }
  }
};
struct UpdateNonSlot : Call {
  using First = std::vector<DeviceSpec>;
  static decltype(auto) at(auto& self, CallSite site, auto&&... a) {
    constexpr Mistake kMistake = mistake_in_update_non_slot<std::remove_cvref_t<decltype(a)>...>();
    static_assert(kIsNot<kMistake, Mistake::kFirst>,
                  "update_non_slot calls a function on devices: write update_non_slot(devices, "
                  "[&](const A& a) {...}, a), with a std::vector<DeviceSpec> first");
    static_assert(kIsNot<kMistake, Mistake::kPerReplica>,
                  "update takes Mirrored or plain arguments: reduce a PerReplica first");
    static_assert(kIsNot<kMistake, Mistake::kReplicaLocal>,
                  "update and map take no replica-local variable as an argument: read it first");
    static_assert(
        kIsNot<kMistake, Mistake::kFunction>,
        "the function of update_non_slot is called as fn(const A&...): write [&](const "
        "A& a) {...}, with an A for each argument of update_non_slot behind the function");
    if constexpr (kMistake == Mistake::kNone) {
      return self.update_non_slot_at(site, std::forward<decltype(a)>(a)...);
    } else if constexpr (kMistake == Mistake::kBroken) {
      return NonSlotFunctionCall<std::remove_cvref_t<decltype(a)>...>::unmade();
    } else {
      return Refused();
    }
  }
};
struct Map : Call {
  static decltype(auto) at(auto& self, CallSite site, auto&&... a) {
    constexpr Mistake kMistake = mistake_in_map<std::remove_cvref_t<decltype(a)>...>();
    static_assert(kIsNot<kMistake, Mistake::kFirst>,
                  "map calls a function for each element of a std::vector: write map(elements, "
                  "[&](const X& element, const A& a) {...}, a)");
    static_assert(kIsNot<kMistake, Mistake::kPerReplica>,
                  "map takes Mirrored or plain arguments: reduce a PerReplica first");
    static_assert(kIsNot<kMistake, Mistake::kReplicaLocal>,
                  "update and map take no replica-local variable as an argument: read it first");
    static_assert(kIsNot<kMistake, Mistake::kFunction>,
                  "the function of map is called as fn(const X&, const A&...): write [&](const X& "
                  "element, const A& a) {...}, with an A for each argument of map behind the "
                  "function");
    static_assert(kIsNot<kMistake, Mistake::kNoResult>,
                  "map lists the results of its function, which returns nothing here: write a "
                  "return in the function, or a loop in place of map");
    if constexpr (kMistake == Mistake::kNone) {
      return self.map_at(site, std::forward<decltype(a)>(a)...);
    } else if constexpr (kMistake == Mistake::kBroken) {
      return MapFunctionCall<std::remove_cvref_t<decltype(a)>...>::unmade();
    } else {
      return Refused();
    }
  }
};

}  // namespace calls

/// Last argument of an arity overload: anything but the call site that may follow it.
template <class T>
concept NotSite = !std::is_same_v<std::remove_cvref_t<T>, CallSite>;

/// The first of several arguments: anything that does not hold the call site.
template <class T, class Call>
concept FirstWithoutSite =
    !Call::kFirstHasSite || !std::is_same_v<std::remove_cvref_t<T>, typename Call::First>;
/// An only argument: the first and the last.
template <class T, class Call>
concept OnlyWithoutSite = FirstWithoutSite<T, Call> && NotSite<T>;

/// A function of a context with any number of arguments and, behind them, the call site. The call
/// site is a default argument and cannot follow a parameter pack; therefore the verb has an
/// overload for each number of arguments up to ten. `Self` is the context, which holds the verb as
/// a member.
template <class Self, class Call>
class Verb {
  using First = typename Call::First;

 public:
  explicit Verb(Self& self) : self_(self) {}
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;

  template <class... A>
    requires Call::kFirstHasSite
  decltype(auto) operator()(const First& first, A&&... a) const {
    return Call::at(self_, first, std::forward<A>(a)...);
  }

  template <OnlyWithoutSite<Call> A1 = First>
  decltype(auto) operator()(A1&& a1, CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1));
  }
  template <FirstWithoutSite<Call> A1 = First, NotSite A2>
  decltype(auto) operator()(A1&& a1, A2&& a2, CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, NotSite A3>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, NotSite A4>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                            CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, NotSite A5>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                            CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6,
                            CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            NotSite A7>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7,
                            CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            class A7, NotSite A8>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                            CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7), std::forward<A8>(a8));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            class A7, class A8, NotSite A9>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                            A9&& a9, CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7), std::forward<A8>(a8), std::forward<A9>(a9));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            class A7, class A8, class A9, NotSite A10>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                            A9&& a9, A10&& a10, CallSite site = CallSite::here()) const {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7), std::forward<A8>(a8), std::forward<A9>(a9),
                    std::forward<A10>(a10));
  }

 private:
  Self& self_;
};

}  // namespace belfry::detail
