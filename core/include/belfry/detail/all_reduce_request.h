// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/nest.h"

#include <vector>

namespace belfry::detail {

class StrategyCore;

/// Reduces the leaves of all requests in place; `functions` changes nothing, as operators are
/// compared. Throws: StructureMismatchError, and the errors of StrategyReductions::all_reduce.
void execute_all_reduce(CrossReplicaContext& cross, MergeRequest* const* requests,
                        const Participants& present, int functions);
/// The same for requests of the replicas of all processes that take part.
void all_reduce_requests(CrossReplicaContext& cross, MergeRequest* const* requests,
                         const Participants& present);

/// One replica's all_reduce: its leaves, which the merge overwrites.
struct AllReduceRequest : MergeRequest {
  template <class T>
  AllReduceRequest(const MergeType& merge_type, MergePlace where, ReduceOp reduce_op, T& target)
      : MergeRequest{&merge_type, where.site, where.tag, nullptr},
        op(reduce_op),
        leaves(leaves_of(target)),
        value(&target),
        same([](const void* a, const void* b) {
          return same_tree(*static_cast<const T*>(a), *static_cast<const T*>(b));
        }),
        describe([](const void* a) { return describe_leaves(*static_cast<const T*>(a)); }) {}

  /// The part of a replica, as its process sent the part. `descriptions` of the leaves outlives the
  /// request.
  AllReduceRequest(const MergeRequest& like, ReduceOp reduce_op, std::vector<LeafRef> replaced,
                   const std::vector<LeafDescription>& descriptions);

  ReduceOp op;
  std::vector<LeafRef> leaves;
  const void* value;
  bool (*same)(const void*, const void*);
  std::vector<LeafDescription> (*describe)(const void*);
};

/// Shows the value of the request: before the merge the replica's, afterwards the result.
template <class T>
void show_all_reduce(const MergeRequest& request, bool /*results*/, ValueVisitor& visitor) {
  const auto& own = static_cast<const AllReduceRequest&>(request);
  visitor.op(to_string(own.op));
  show_value(*static_cast<const T*>(own.value), "", visitor);
}

template <class T>
inline constexpr MergeType kAllReduceType{MergeKind::kAllReduce, spelling<T>(), &execute_all_reduce,
                                          nullptr, &show_all_reduce<T>};

enum class HostReduction {
  kDone,      ///< The values of this process are the result.
  kRefused,   ///< Values and elements of tensors have to be gathered.
  kNotTried,  ///< Nothing was exchanged: tensors stay on their devices if possible.
};

/// Reduces the leaves of all requests in place, as all_reduce does on hosts: one process reduces
/// the messages of all, and every process takes the result. `requests` are those of the replicas of
/// this process in `present`. If processes differ in kNotTried, the gather of one for a reduction
/// meets the exchange of the other, and both gather once more.
/// Order: blocks the host until all processes have called, unless nothing is exchanged.
/// Throws: as exchange_to_reduce.
HostReduction reduce_by_hosts(StrategyCore& core, const char* what, CallSite site,
                              std::vector<AllReduceRequest>& requests, const Participants& present);

}  // namespace belfry::detail
