// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/not_site.h"
#include "belfry/reduce_op.h"

#include <concepts>
#include <type_traits>
#include <utility>

namespace belfry::detail {

/// `batch_reduce` for 1 to 8 values: a defaulted call site cannot follow a parameter pack.
/// Order: all values are one reduction of the strategy's, or one for each set of replicas that
/// bring them; then as CrossReplicaContext::reduce has it.
/// Throws: as `reduce`, with and without a destination; numbers of replicas, destinations and
/// structures are looked at before anything is reduced.
template <class Self>
class BatchReduceVerbs {
 public:
  template <NotSite A1>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1));
  }
  template <class A1, NotSite A2>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2));
  }
  template <class A1, class A2, NotSite A3>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, A3&& a3,
                              CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2),
                                  std::forward<A3>(a3));
  }
  template <class A1, class A2, class A3, NotSite A4>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, A3&& a3, A4&& a4,
                              CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2),
                                  std::forward<A3>(a3), std::forward<A4>(a4));
  }
  template <class A1, class A2, class A3, class A4, NotSite A5>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5,
                              CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2),
                                  std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5));
  }
  template <class A1, class A2, class A3, class A4, class A5, NotSite A6>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6,
                              CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2),
                                  std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                                  std::forward<A6>(a6));
  }
  template <class A1, class A2, class A3, class A4, class A5, class A6, NotSite A7>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6,
                              A7&& a7, CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2),
                                  std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                                  std::forward<A6>(a6), std::forward<A7>(a7));
  }
  template <class A1, class A2, class A3, class A4, class A5, class A6, class A7, NotSite A8>
  decltype(auto) batch_reduce(ReduceOp op, A1&& a1, A2&& a2, A3&& a3, A4&& a4, A5&& a5, A6&& a6,
                              A7&& a7, A8&& a8, CallSite site = CallSite::here()) {
    return self().batch_reduce_at(site, op, std::forward<A1>(a1), std::forward<A2>(a2),
                                  std::forward<A3>(a3), std::forward<A4>(a4), std::forward<A5>(a5),
                                  std::forward<A6>(a6), std::forward<A7>(a7), std::forward<A8>(a8));
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace belfry::detail
