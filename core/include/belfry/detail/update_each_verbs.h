// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/not_site.h"

#include <utility>

namespace belfry::detail {

/// `update_each` for 0 to 8 arguments: a defaulted call site cannot follow a parameter pack.
/// Order, Throws: as UpdateVerbs.
template <class Self>
class UpdateEachVerbs {
 public:
  template <class V, class F>
  decltype(auto) update_each(const V& variable, const F& fn, CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn);
  }
  template <class V, class F, NotSite A1>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1,
                             CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1));
  }
  template <class V, class F, class A1, NotSite A2>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2,
                             CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <class V, class F, class A1, class A2, NotSite A3>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                             CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                                 std::forward<A3>(a3));
  }
  template <class V, class F, class A1, class A2, class A3, NotSite A4>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                             CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                                 std::forward<A3>(a3), std::forward<A4>(a4));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, NotSite A5>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                             A5&& a5, CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                                 std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                             A5&& a5, A6&& a6, CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                                 std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                                 std::forward<A6>(a6));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, class A5, class A6,
            NotSite A7>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                             A5&& a5, A6&& a6, A7&& a7, CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                                 std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                                 std::forward<A6>(a6), std::forward<A7>(a7));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, class A5, class A6, class A7,
            NotSite A8>
  decltype(auto) update_each(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                             A5&& a5, A6&& a6, A7&& a7, A8&& a8, CallSite site = CallSite::here()) {
    return self().update_each_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                                 std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                                 std::forward<A6>(a6), std::forward<A7>(a7), std::forward<A8>(a8));
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
