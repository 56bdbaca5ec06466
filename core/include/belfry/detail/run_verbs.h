// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/not_site.h"
#include "belfry/run_options.h"

#include <concepts>
#include <type_traits>
#include <utility>

namespace belfry::detail {

/// First argument of `run` that is the function: anything but the options that may precede it.
template <class T>
concept NotOptions = !std::is_same_v<std::remove_cvref_t<T>, RunOptions>;

/// `run` for 0 to 8 arguments: a defaulted call site cannot follow a parameter pack.
/// Throws, beside what replicas and merges throw: ContextError (kStrategyBusy) while another thread
/// runs this strategy, or runs on a backend that is for one thread at a time (SEM-9),
/// (kWrongContext, kOtherStrategy) inside a replica or another strategy (SEM-14), (kRunFailed) when
/// code threw ReplicaCancelled where no run had failed (SEM-7); InvalidArgumentError
/// (kInvalidArgument) for a PerReplica or Mirrored of another number of replicas (SEM-13), or when
/// no replica can take part (SEM-90); MergeMismatchError (SEM-5); VariableMismatchError
/// (kVariableMismatch) when replicas made different variables (SEM-48); DeviceError (kOutOfMemory)
/// without room for stacks, (kDeadlock, kStackOverflow); UnsupportedError (kUnsupported) without
/// threads for replicas; StrategyError (kStrategyContract) where a strategy does not keep its part.
template <class Self>
class RunVerbs {
 public:
  template <NotOptions F>
  decltype(auto) run(const F& fn, CallSite site = CallSite::here()) {
    return self().run_at(site, fn);
  }
  template <NotOptions F, NotSite A1>
  decltype(auto) run(const F& fn, A1&& a1, CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1));
  }
  template <NotOptions F, class A1, NotSite A2>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <NotOptions F, class A1, class A2, NotSite A3>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, A3&& a3, CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2),
                         std::forward<A3>(a3));
  }
  template <NotOptions F, class A1, class A2, class A3, NotSite A4>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                     CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                         std::forward<A4>(a4));
  }
  template <NotOptions F, class A1, class A2, class A3, class A4, NotSite A5>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                     CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                         std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <NotOptions F, class A1, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6,
                     CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                         std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6));
  }
  template <NotOptions F, class A1, class A2, class A3, class A4, class A5, class A6, NotSite A7>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7,
                     CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                         std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                         std::forward<A7>(a7));
  }
  template <NotOptions F, class A1, class A2, class A3, class A4, class A5, class A6, class A7,
            NotSite A8>
  decltype(auto) run(const F& fn, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6, A7&& a7,
                     A8&& a8, CallSite site = CallSite::here()) {
    return self().run_at(site, fn, std::forward<A1>(a1), std::forward<A2>(a2), std::forward<A3>(a3),
                         std::forward<A4>(a4), std::forward<A5>(a5), std::forward<A6>(a6),
                         std::forward<A7>(a7), std::forward<A8>(a8));
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
