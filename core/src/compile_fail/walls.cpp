// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes in every first program. The first error says what to write, and the output is short; a
// misspelt name is reported before any message of belfry. Each section fails; the rest compiles.
#include "belfry/belfry.h"

#include <memory>
#include <vector>

namespace belfry {

// Structures without members, a type for each section: a compiler reports a type once.
template <int Section>
struct Gradients {
  double weight = 0;
  double bias = 0;
};

/// A number type whose ElementTraits lack `text`, and a type without ElementTraits.
struct Fixed {
  int units = 0;
};
struct Ratio {
  int above = 0;
  int below = 1;
};
template <>
struct ElementTraits<Fixed> {
  static Fixed zero() { return {}; }
  static Fixed add(const Fixed& left, const Fixed& right) { return {left.units + right.units}; }
};

void number_types_have_traits(Strategy& strategy) {
#ifdef ELEMENT_TRAITS_WITHOUT_A_TEXT
  // FIRST: write static T zero\(\), static T add\(const T&, const T&\) and static std::string text
  strategy.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, Fixed()).units; });
#endif
#ifdef A_NUMBER_TYPE_WITHOUT_TRAITS
  // FIRST: a number type of your own needs belfry::ElementTraits
  strategy.run(
      [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, Ratio()).above; });
#endif
  static_cast<void>(strategy);
}

void verbs_have_their_place(Strategy& strategy, const MirroredVariable<double>& weight,
                            const PerReplica<double>& values) {
  strategy.cross_replica().reduce(ReduceOp::kSum, values);
#ifdef REDUCE_ON_A_REPLICA
  // FIRST: a replica reduces with the others: write all_reduce\(op, value\)
  strategy.run([&](ReplicaContext& replica) { return 2 * replica.reduce(ReduceOp::kMean, 1.0); });
#endif
#ifdef UPDATE_ON_A_REPLICA
  // FIRST: replicas update a variable together: write replica.merge_call
  strategy.run([&](ReplicaContext& replica) {
    replica.update(weight, [](double& w, double by) { w -= by; }, 1.0);
  });
#endif
#ifdef GATHER_ON_A_REPLICA
  // FIRST: a replica gathers with the others: write all_gather\(value\)
  strategy.run([](ReplicaContext& replica) { replica.gather(std::vector<double>{1}); });
#endif
#ifdef READ_ON_A_REPLICA
  // FIRST: a replica reads its component: write variable.on\(replica\)
  strategy.run([&](ReplicaContext& replica) { return replica.read(weight) + 1; });
#endif
#ifdef REDUCE_ON_A_STRATEGY
  // FIRST: a verb of the cross-replica context: write strategy.cross_replica\(\) in place of
  const Mirrored<double> sum = strategy.reduce(ReduceOp::kSum, values);
#endif
#ifdef ALL_REDUCE_ON_A_STRATEGY
  // FIRST: a verb of replicas: call it in strategy.run
  const double sum = strategy.all_reduce(ReduceOp::kSum, 1.0);
#endif
  static_cast<void>(weight);
}

void structures_list_their_members(Strategy& strategy) {
#ifdef ALL_REDUCE_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  // \}
  strategy.run([](ReplicaContext& replica) {
    const Gradients<1> sum = replica.all_reduce(ReduceOp::kSum, Gradients<1>());
    return sum.weight;
  });
#endif
#ifdef REDUCE_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  // \}
  const PerReplica<Gradients<2>> to_reduce = {{}, {}};
  const Mirrored<Gradients<2>> sum = strategy.cross_replica().reduce(ReduceOp::kSum, to_reduce);
#endif
#ifdef REDUCE_A_STRUCTURE_TO_A_DEVICE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  // \}
  const PerReplica<Gradients<3>> to_place = {{}, {}};
  const MirroredOn<Gradients<3>> placed =
      strategy.cross_replica().reduce(ReduceOp::kSum, to_place, strategy.devices());
#endif
#ifdef REDUCE_A_BATCH_OF_STRUCTURES
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<Gradients<6>> in_batch = {{}, {}};
  strategy.cross_replica().batch_reduce(ReduceOp::kSum, in_batch);
#endif
#ifdef GATHER_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  // \}
  const PerReplica<Gradients<4>> to_gather = {{}, {}};
  const Gradients<4> joined = strategy.cross_replica().gather(to_gather);
#endif
#ifdef ALL_GATHER_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  // \}
  strategy.run([](ReplicaContext& replica) {
    const Gradients<5> joined = replica.all_gather(Gradients<5>());
    return joined.weight;
  });
#endif
  static_cast<void>(strategy);
}

void functions_are_called_with_a_context(Strategy& strategy, ReplicaContext& replica) {
  const PerReplica<double> losses =
      strategy.run([](ReplicaContext&, double loss) { return loss; }, 1.0);
  const double sum = replica.merge_call(
      [](CrossReplicaContext& cross, const PerReplica<double>& values) {
        return cross.reduce(ReduceOp::kSum, values);
      },
      losses[0]);
#ifdef REPLICA_FUNCTION_WITHOUT_AN_ARGUMENT
  // FIRST: write \[&\]\(ReplicaContext& replica, const A& a\) \{...\}, with an A for each argument
  const PerReplica<double> without =
      strategy.run([](ReplicaContext&, double loss) { return loss; });
#endif
#ifdef REPLICA_FUNCTION_WITHOUT_A_PARAMETER
  // FIRST: write \[&\]\(ReplicaContext& replica, const A& a\) \{...\}, with an A for each argument
  const PerReplica<double> too_many = strategy.run([](ReplicaContext&) { return 1.0; }, 1, 2);
#endif
#ifdef REPLICA_FUNCTION_WITHOUT_A_CONTEXT
  // FIRST: write \[&\]\(ReplicaContext& replica, const A& a\) \{...\}, with an A for each argument
  const PerReplica<double> alone = strategy.run([](double loss) { return loss; }, 1.0);
#endif
#ifdef REPLICA_FUNCTION_OF_TWO_NUMBERS
  // FIRST: write \[&\]\(ReplicaContext& replica, const A& a\) \{...\}, with an A for each argument
  const PerReplica<int> of_two = strategy.run([](int a, int b) { return a + b; }, 3);
#endif
#ifdef A_NUMBER_AS_A_REPLICA_FUNCTION
  // FIRST: write \[&\]\(ReplicaContext& replica, const A& a\) \{...\}, with an A for each argument
  const PerReplica<double> number = strategy.run(42);
#endif
#ifdef MERGE_FUNCTION_WITHOUT_AN_ARGUMENT
  // FIRST: write \[&\]\(CrossReplicaContext& cross, const PerReplica<A>& a\) \{...\}, with a
  const double missing = replica.merge_call(
      [](CrossReplicaContext&, const PerReplica<double>& values) { return values[0]; });
#endif
#ifdef MERGE_FUNCTION_WITHOUT_A_PARAMETER
  // FIRST: write \[&\]\(CrossReplicaContext& cross, const PerReplica<A>& a\) \{...\}, with a
  const double more = replica.merge_call(
      [](CrossReplicaContext&, const PerReplica<double>& values) { return values[0]; }, 1.0, 2.0);
#endif
#ifdef MERGE_FUNCTION_OF_ONE_COMPONENT
  // FIRST: write \[&\]\(CrossReplicaContext& cross, const PerReplica<A>& a\) \{...\}, with a
  strategy.run([](ReplicaContext& inside) {
    return inside.merge_call([](CrossReplicaContext&, double value) { return value; }, 1.0);
  });
#endif
#ifdef A_NUMBER_AS_A_MERGE_FUNCTION
  // FIRST: write \[&\]\(CrossReplicaContext& cross, const PerReplica<A>& a\) \{...\}, with a
  replica.merge_call(1.0);
#endif
  static_cast<void>(sum);
}

void replicas_get_copies_of_the_result(ReplicaContext& replica) {
  *replica.merge_call([](CrossReplicaContext&) { return std::make_shared<int>(1); }) += 1;
#ifdef MERGE_TO_A_UNIQUE_PTR
  // FIRST: return, for example, a std::shared_ptr in place of a std::unique_ptr
  const std::unique_ptr<int> own =
      replica.merge_call([](CrossReplicaContext&) { return std::make_unique<int>(1); });
#endif
#ifdef MERGE_TO_A_LIST_OF_UNIQUE_PTRS
  // FIRST: return, for example, a std::shared_ptr in place of a std::unique_ptr
  const auto list =
      replica.merge_call([](CrossReplicaContext&) { return std::vector<std::unique_ptr<int>>(2); });
  static_cast<void>(list.size());
#endif
}

void names_are_declared(Strategy& strategy, const MirroredVariable<double>& weight) {
#ifdef TYPO_IN_A_REPLICA_FUNCTION
  // TYPO: gradeint
  const PerReplica<double> losses =
      strategy.run([&](ReplicaContext& replica) { return weight.on(replica) * gradeint; });
#endif
#ifdef TYPO_IN_A_MERGE_FUNCTION
  // TYPO: gradeints
  strategy.run([&](ReplicaContext& replica) {
    return replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
          return cross.reduce(ReduceOp::kMean, gradeints);
        },
        weight.on(replica));
  });
#endif
#ifdef TYPO_IN_A_FUNCTION_OF_UPDATE
  // TYPO: rate
  strategy.cross_replica().update(weight, [&](double& w, double by) { w -= rate * by; }, 1.0);
#endif
#ifdef TYPO_IN_AN_ARGUMENT
  // TYPO: los
  strategy.run([&](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, los); });
#endif
  static_cast<void>(strategy);
  static_cast<void>(weight);
}

}  // namespace belfry
