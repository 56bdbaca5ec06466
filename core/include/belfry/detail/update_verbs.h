// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/not_site.h"

#include <concepts>
#include <type_traits>
#include <utility>

namespace belfry::detail {

/// `update` for 0 to 8 arguments: a defaulted call site cannot follow a parameter pack.
/// Order: fn is called on the calling thread, for one component after another; what it does to
/// tensors, and copies of arguments from other devices, are enqueued on compute streams, and the
/// host does not block unless fn does.
/// Throws: what fn throws; ContextError (kOtherStrategy) for a variable of another strategy, also
/// as an argument, (kWrongContext) inside the function of another update (SEM-41);
/// VariableMismatchError (kMirroredDiverged) when host values of a mirrored variable, or shapes of
/// its tensors, or those of what fn returned for it, differ between components where the backend
/// compares them (SEM-11);
/// InvalidArgumentError (kDestination) for an argument that is a variable or a MirroredOn and has
/// nothing for the component's device, (kInvalidArgument) for a Mirrored of another number of
/// replicas or a Variable that is replica-local; UnsupportedError (kUnsupported) where the strategy
/// copies what fn returns (SEM-113) and that cannot be copied. No component has changed then
/// (SEM-42).
template <class Self>
class UpdateVerbs {
 public:
  template <class V, class F>
  decltype(auto) update(const V& variable, const F& fn, CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn);
  }
  template <class V, class F, NotSite A1>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1));
  }
  template <class V, class F, class A1, NotSite A2>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2,
                        CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <class V, class F, class A1, class A2, NotSite A3>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3,
                        CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                            std::forward<A3>(a3));
  }
  template <class V, class F, class A1, class A2, class A3, NotSite A4>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                        CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                            std::forward<A3>(a3), std::forward<A4>(a4));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, NotSite A5>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                        CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                            std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                        A6&& a6, CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                            std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                            std::forward<A6>(a6));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, class A5, class A6,
            NotSite A7>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                        A6&& a6, A7&& a7, CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                            std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                            std::forward<A6>(a6), std::forward<A7>(a7));
  }
  template <class V, class F, class A1, class A2, class A3, class A4, class A5, class A6, class A7,
            NotSite A8>
  decltype(auto) update(const V& variable, const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                        A6&& a6, A7&& a7, A8&& a8, CallSite site = CallSite::here()) {
    return self().update_at(site, variable, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                            std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                            std::forward<A6>(a6), std::forward<A7>(a7), std::forward<A8>(a8));
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
