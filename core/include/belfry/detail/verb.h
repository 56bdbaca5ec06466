// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/calls.h"

#include <type_traits>
#include <utility>

namespace belfry::detail {

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
  decltype(auto) operator()(const First& first, A&&... a) {
    return Call::at(self_, first, std::forward<A>(a)...);
  }

  template <OnlyWithoutSite<Call> A1 = First>
  decltype(auto) operator()(A1&& a1, CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1));
  }
  template <FirstWithoutSite<Call> A1 = First, NotSite A2>
  decltype(auto) operator()(A1&& a1, A2&& a2, CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, NotSite A3>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, NotSite A4>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, NotSite A5>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                            CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6,
                            CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            NotSite A7>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7,
                            CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            class A7, NotSite A8>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                            CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7), std::forward<A8>(a8));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            class A7, class A8, NotSite A9>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                            A9&& a9, CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7), std::forward<A8>(a8), std::forward<A9>(a9));
  }
  template <FirstWithoutSite<Call> A1 = First, class A2, class A3, class A4, class A5, class A6,
            class A7, class A8, class A9, NotSite A10>
  decltype(auto) operator()(A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                            A9&& a9, A10&& a10, CallSite site = CallSite::here()) {
    return Call::at(self_, site, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                    std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                    std::forward<A7>(a7), std::forward<A8>(a8), std::forward<A9>(a9),
                    std::forward<A10>(a10));
  }

 private:
  Self& self_;
};

}  // namespace belfry::detail
