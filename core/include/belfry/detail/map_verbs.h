// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/not_site.h"

#include <utility>
#include <vector>

namespace belfry::detail {

/// `map` for 0 to 8 arguments: a defaulted call site cannot follow a parameter pack.
/// Order: fn is called on the calling thread, for one element after another (SEM-123); otherwise as
/// UpdateVerbs.
/// Throws: what fn throws; for arguments as UpdateVerbs.
template <class Self>
class MapVerbs {
 public:
  template <class X, class F>
  decltype(auto) map(const std::vector<X>& elements, const F& fn,
                     CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn);
  }
  template <class X, class F, NotSite A1>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1,
                     CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1));
  }
  template <class X, class F, class A1, NotSite A2>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2,
                     CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <class X, class F, class A1, class A2, NotSite A3>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                     CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3));
  }
  template <class X, class F, class A1, class A2, class A3, NotSite A4>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                     A4&& a4, CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3), std::forward<A4>(a4));
  }
  template <class X, class F, class A1, class A2, class A3, class A4, NotSite A5>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                     A4&& a4, A5&& a5, CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <class X, class F, class A1, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                     A4&& a4, A5&& a5, A6&& a6, CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                         std::forward<A6>(a6));
  }
  template <class X, class F, class A1, class A2, class A3, class A4, class A5, class A6,
            NotSite A7>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                     A4&& a4, A5&& a5, A6&& a6, A7&& a7, CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                         std::forward<A6>(a6), std::forward<A7>(a7));
  }
  template <class X, class F, class A1, class A2, class A3, class A4, class A5, class A6, class A7,
            NotSite A8>
  decltype(auto) map(const std::vector<X>& elements, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                     A4&& a4, A5&& a5, A6&& a6, A7&& a7, A8&& a8,
                     CallSite site = CallSite::here()) {
    return self().map_at(site, elements, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                         std::forward<A6>(a6), std::forward<A7>(a7), std::forward<A8>(a8));
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
