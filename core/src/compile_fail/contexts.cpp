// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Functions of the wrong context must not compile. Each section fails; the rest compiles.
#include "belfry/belfry.h"

#include <vector>

namespace belfry {

void replicas_have_replica_verbs(ReplicaContext& replica, const PerReplica<int>& values,
                                 const MirroredVariable<int>& mirrored,
                                 const ReplicaLocalVariable<int>& local) {
  replica.all_reduce(ReduceOp::kSum, 1);
  replica.merge_call([](CrossReplicaContext&, const PerReplica<int>&) {}, 1);
  local.on(replica) = mirrored.on(replica) + values.size();
#ifdef REDUCE_IN_REPLICA
  // EXPECT: a replica reduces with the others: write all_reduce
  replica.reduce(ReduceOp::kSum, values);
#endif
#ifdef UPDATE_IN_REPLICA
  // EXPECT: replicas update a variable together: write replica.merge_call
  replica.update(mirrored, [](int&) {});
#endif
#ifdef RUN_IN_REPLICA
  // EXPECT: a strategy runs: write replica.strategy\(\).run
  replica.run([](ReplicaContext&) {});
#endif
#ifdef WRITE_MIRRORED_IN_REPLICA
  // EXPECT: read-only|cannot assign
  mirrored.on(replica) = 2;
#endif
#ifdef COPY_REPLICA_CONTEXT
  // EXPECT: deleted
  ReplicaContext copy = replica;
#endif
}

void merges_have_cross_replica_verbs(CrossReplicaContext& cross, const PerReplica<int>& values,
                                     const Mirrored<int>& same,
                                     const MirroredVariable<int>& mirrored,
                                     const ReplicaLocalVariable<int>& local) {
  cross.update(
      mirrored, [](int& component, int sum) { component = sum; },
      cross.reduce(ReduceOp::kSum, values));
  cross.update(local, [](int& component, int by) { component += by; }, mirrored);
  cross.reduce(ReduceOp::kMean, same);
#ifdef MERGE_IN_MERGE
  // EXPECT: a merge function runs once, for all replicas
  cross.merge_call([](CrossReplicaContext&) {});
#endif
#ifdef ALL_REDUCE_IN_MERGE
  // EXPECT: a merge function has all components: write reduce
  cross.all_reduce(ReduceOp::kSum, 1);
#endif
#ifdef REPLICA_ID_IN_MERGE
  // EXPECT: no member named .?replica_id
  static_cast<void>(cross.replica_id());
#endif
#ifdef SUM_OF_MIRRORED
  // EXPECT: SUM of a Mirrored is ambiguous|not a constant expression
  cross.reduce(ReduceOp::kSum, same);
#endif
#ifdef UPD_09_UPDATE_WITH_PER_REPLICA
  // EXPECT: update takes Mirrored or plain arguments: reduce a PerReplica first
  cross.update(mirrored, [](int& component, int value) { component = value; }, values);
#endif
#ifdef UPDATE_WITH_A_LIST_OF_PER_REPLICA
  // EXPECT: update takes Mirrored or plain arguments: reduce a PerReplica first
  cross.update(
      mirrored, [](int& component, const std::vector<int>& by) { component = by[0]; },
      std::vector{values});
#endif
#ifdef UPDATE_WITH_A_REPLICA_LOCAL_VARIABLE
  // EXPECT: update and map take no replica-local variable as an argument: read it first
  cross.update(mirrored, [](int& component, int value) { component = value; }, local);
#endif
#ifdef COMPONENT_IN_MERGE
  // EXPECT: CrossReplicaContext
  mirrored.on(cross);
#endif
#ifdef COPY_CROSS_REPLICA_CONTEXT
  // EXPECT: deleted
  CrossReplicaContext copy = cross;
#endif
}

void functions_have_the_right_parameters(Strategy& strategy, ReplicaContext& replica) {
  strategy.run([](ReplicaContext&, int) {}, 1);
#ifdef RUN_FUNCTION_WITHOUT_CONTEXT
  // EXPECT: the replica function is called as fn\(ReplicaContext&, const A&...\)
  strategy.run([](int) {}, 1);
#endif
#ifdef RUN_FUNCTION_THAT_WRITES_ITS_ARGUMENT
  // EXPECT: the replica function is called as fn\(ReplicaContext&, const A&...\)
  strategy.run([](ReplicaContext&, int&) {}, 1);
#endif
#ifdef MERGE_FUNCTION_WITHOUT_PER_REPLICA
  // EXPECT: merge_fn is called as merge_fn\(CrossReplicaContext&, const PerReplica<A>&...\)
  replica.merge_call([](CrossReplicaContext&, int) {}, 1);
#endif
#ifdef MERGE_FUNCTION_OF_A_REPLICA
  // EXPECT: merge_fn is called as merge_fn\(CrossReplicaContext&, const PerReplica<A>&...\)
  replica.merge_call([](ReplicaContext&) {});
#endif
#ifdef MERGE_FUNCTION_WITH_TOO_FEW_PARAMETERS
  // EXPECT: merge_fn is called as merge_fn\(CrossReplicaContext&, const PerReplica<A>&...\)
  replica.merge_call([](CrossReplicaContext&, const PerReplica<int>&) {}, 1, 2);
#endif
  static_cast<void>(replica);
}

void reductions_are_of_nests(ReplicaContext& replica) {
  replica.all_reduce(ReduceOp::kSum, std::vector<std::vector<float>>{{1}});
#ifdef REDUCE_A_POINTER
  // EXPECT: the verb takes nests: numbers, tensors, containers
  int number = 0;
  replica.all_reduce(ReduceOp::kSum, &number);
#endif
#ifdef REDUCE_TEXT
  // EXPECT: the verb takes nests: numbers, tensors, containers
  replica.all_reduce(ReduceOp::kSum, std::string("x"));
#endif
}

}  // namespace belfry
