// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verbs that some kinds of values and variables do not have. Each section fails; the rest compiles.
#include "belfry/belfry.h"
#include "belfry/indexed_slices.h"

namespace belfry {

void sums_of_slices(CrossReplicaContext& cross, ReplicaContext& replica,
                    const PerReplica<IndexedSlices<float>>& all, const IndexedSlices<float>& own,
                    const IndexedSlices<double>& wide) {
  reduce_slices(cross, ReduceOp::kSum, all);
  all_reduce_slices(replica, ReduceOp::kSum, own);
#ifdef GAT_09_GATHER_SLICES
  // EXPECT: the verb takes nests: numbers, tensors, containers
  cross.gather(all);
#endif
#ifdef GAT_15_ALL_GATHER_SLICES
  // EXPECT: the verb takes nests: numbers, tensors, containers
  replica.all_gather(wide);
#endif
  static_cast<void>(wide);
}

void components_and_promises(const PerReplica<int>& values) {
  static_cast<void>(values[0]);
#ifdef RG_03_PER_REPLICA_IS_NOT_MIRRORED
  // EXPECT: conversion|no viable|invalid initialization
  const Mirrored<int>& same = values;
  static_cast<void>(same);
#endif
}

void replica_local_variables(CrossReplicaContext& cross, const ReplicaLocalVariable<int>& local) {
  cross.assign_total(local, 1);
#ifdef TLV_21_TLV_30_ADD_TO_REPLICA_LOCAL_FROM_OUTSIDE
  // EXPECT: no member named .?assign_add
  cross.assign_add(local, 1);
#endif
}

}  // namespace belfry
