// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Arguments that verbs with destinations, axes and batches must refuse. Each section fails; the
// rest compiles. A section named after a row of the catalogue has belfry's outcome of the row.
#include "belfry/belfry.h"

#include <tuple>
#include <utility>
#include <vector>

namespace belfry {

// An aggregate with known members.
struct Step {
  PerReplica<int> sizes;
  int count;
  static auto members(auto& self) { return std::tie(self.sizes, self.count); }
};

void verbs_of_the_cross_replica_context(CrossReplicaContext& cross, const PerReplica<int>& values,
                                        const PerReplica<std::vector<int>>& rows,
                                        const MirroredVariable<int>& variable,
                                        const DeviceSpec& device) {
  cross.reduce(ReduceOp::kSum, values, device);
  cross.reduce(ReduceOp::kSum, rows, Axis(0));
  cross.batch_reduce(ReduceOp::kSum, std::pair{values, device}, values);
  cross.gather(rows, Axis(0));
#ifdef RED_22_SUM_OF_A_MIRRORED_TO_A_DESTINATION
  // EXPECT: SUM of a Mirrored is ambiguous|not a constant expression
  cross.reduce(ReduceOp::kSum, cross.broadcast(1), device);
#endif
#ifdef RED_24_BATCH_OF_TRIPLES
  // EXPECT: incomplete type|undefined template
  cross.batch_reduce(ReduceOp::kSum, std::tuple{values, device, device});
#endif
#ifdef GATHER_NUMBERS
  // EXPECT: gather joins vectors and tensors along an axis, and a number has none
  cross.gather(values);
#endif
#ifdef Q11_ALL_GATHER_IN_MERGE
  // EXPECT: a merge function has all components: write gather
  cross.all_gather(std::vector<int>{1});
#endif
#ifdef UPDATE_EACH_OF_NOTHING
  // EXPECT: update_each is for functions that return something
  cross.update_each(variable, [](int&) {});
#endif
}

void reductions_of_mirrored_values(CrossReplicaContext& cross) {
  cross.reduce(ReduceOp::kMean, cross.broadcast(std::vector<double>{1}), Axis(0));
  cross.reduce_mapped(ReduceOp::kMean, cross.broadcast(std::vector<double>{1}));
#ifdef SUM_OF_A_MIRRORED_ALONG_AN_AXIS
  // EXPECT: SUM of a Mirrored is ambiguous|not a constant expression
  cross.reduce(ReduceOp::kSum, cross.broadcast(std::vector<int>{1}), Axis(0));
#endif
#ifdef SUM_OF_A_MIRRORED_LIST
  // EXPECT: SUM of a Mirrored is ambiguous|not a constant expression
  cross.reduce_mapped(ReduceOp::kSum, cross.broadcast(std::vector<int>{1}));
#endif
#ifdef BATCH_REDUCE_A_MIRRORED
  // EXPECT: incomplete type|undefined template
  cross.batch_reduce(ReduceOp::kMean, cross.broadcast(1.0));
#endif
#ifdef GATHER_A_MIRRORED
  // EXPECT: no matching
  cross.gather(cross.broadcast(std::vector<int>{1}), Axis(0));
#endif
}

void fetches(CrossReplicaContext& cross, const PerReplica<int>& values,
             const MirroredVariable<int>& variable, const DeviceSpec& device) {
  const auto same = [](int value) { return value; };
  cross.fetch(variable, device, same);
  cross.fetch(variable, same);
  static_cast<void>(values);
#ifdef FETCH_TO_A_NUMBER
  // EXPECT: the function of fetch is called as fn
  cross.fetch(variable, 7);
#endif
#ifdef FETCH_A_PLAIN_VALUE
  // EXPECT: fetch takes a variable, a Mirrored or a MirroredOn
  cross.fetch(5, device);
#endif
#ifdef FETCH_A_PER_REPLICA
  // EXPECT: fetch takes a variable or a value that is the same everywhere
  cross.fetch(values, device);
#endif
}

void places(Strategy& strategy, const MirroredVariable<int>& variable) {
  const VariableScope beside = strategy.colocate_variables_with(variable);
#ifdef COLOCATE_WITH_A_TEXT
  // EXPECT: no matching
  const VariableScope scope = strategy.colocate_variables_with("/cpu:0");
#endif
}

void arguments(CrossReplicaContext& cross, const PerReplica<int>& values,
               const MirroredVariable<int>& variable, const ReplicaLocalVariable<int>& local) {
  cross.map(std::vector<int>{1}, [](int x, int y) { return x + y; }, 2);
  cross.group(std::vector{variable});
#ifdef MAP_WITH_PER_REPLICA
  // EXPECT: map takes Mirrored or plain arguments: reduce a PerReplica first
  cross.map(std::vector<int>{1}, [](int x, int y) { return x + y; }, values);
#endif
#ifdef MAP_WITH_A_PAIR_OF_PER_REPLICA
  // EXPECT: map takes Mirrored or plain arguments: reduce a PerReplica first
  cross.map(
      std::vector<int>{1}, [](int x, const std::pair<int, int>& by) { return x + by.first; },
      std::pair(values, 1));
#endif
#ifdef MAP_WITH_MEMBERS_OF_PER_REPLICA
  // EXPECT: map takes Mirrored or plain arguments: reduce a PerReplica first
  cross.map(
      std::vector<int>{1}, [](int x, const Step& by) { return x + by.sizes[0]; }, Step{values, 1});
#endif
#ifdef UPDATE_NON_SLOT_WITH_PER_REPLICA
  // EXPECT: update takes Mirrored or plain arguments: reduce a PerReplica first
  cross.update_non_slot(std::vector<DeviceSpec>{}, [](int) {}, values);
#endif
#ifdef MAP_WITH_A_REPLICA_LOCAL_VARIABLE
  // EXPECT: update and map take no replica-local variable as an argument: read it first
  cross.map(std::vector<int>{1}, [](int x, int y) { return x + y; }, local);
#endif
#ifdef UPDATE_NON_SLOT_WITH_A_REPLICA_LOCAL_VARIABLE
  // EXPECT: update and map take no replica-local variable as an argument: read it first
  cross.update_non_slot(std::vector<DeviceSpec>{}, [](int) {}, local);
#endif
#ifdef GROUP_A_POINTER
  // EXPECT: group looks into tensors, variables, distributed values
  cross.group(&variable);
#endif
  static_cast<void>(values);
  static_cast<void>(local);
}

void increase(int& component) noexcept { component += 1; }
[[maybe_unused]] void increase_copy(int component) noexcept { component += 1; }

void updates(CrossReplicaContext& cross, const MirroredVariable<int>& variable) {
  cross.update(variable, [](int& component) { component += 1; });
  cross.update(variable, [](auto& component, int by) { component += by; }, 1);
  cross.update(variable, [](int component) { return component; });
  cross.update(variable, [](const int&) {});
  cross.update(variable, increase);
#ifdef UPDATE_OF_A_COPY
  // EXPECT: the function of update must take the component as T&
  cross.update(variable, [](int component, int by) { component += by; }, 1);
#endif
#ifdef UPDATE_OF_A_COPY_BY_NAME
  // EXPECT: the function of update must take the component as T&
  cross.update(variable, increase_copy);
#endif
#ifdef UPDATE_OF_WHAT_MAY_THROW_WHEN_IT_IS_ASSIGNED
  // EXPECT: a variable that changes is of a type whose move assignment is noexcept
  struct Throws {
    Throws() = default;
    Throws(const Throws&) = default;
    Throws& operator=(const Throws&) { throw 1; }
    int x = 0;
  };
  cross.update(cross.strategy().mirrored_variable(Throws()), [](Throws& one) { one.x += 1; });
#endif
}

void verbs_of_a_replica(ReplicaContext& replica) {
  replica.all_gather(std::vector<int>{1});
#ifdef GAT_19_GATHER_IN_REPLICA
  // EXPECT: a replica gathers with the others: write all_gather
  replica.gather(std::vector<int>{1});
#endif
#ifdef ALL_GATHER_A_NUMBER
  // EXPECT: a number has none
  replica.all_gather(1.0);
#endif
#ifdef ENTER_A_REPLICA
  // EXPECT: no member named .?scope
  const Scope scope = replica.scope();
#endif
}

// The objects that belfry hands to functions make no contexts either.
void contexts_are_made_by_the_runner(CrossReplicaContext& cross, ReplicaContext& replica) {
  static_cast<void>(cross.strategy());
  static_cast<void>(replica.strategy());
#ifdef MAKE_A_REPLICA_CONTEXT
  // EXPECT: private
  ReplicaContext made_replica(replica.merges(), 0);
#endif
#ifdef MAKE_A_CROSS_REPLICA_CONTEXT
  // EXPECT: private
  CrossReplicaContext made_cross(cross.core());
#endif
}

}  // namespace belfry
