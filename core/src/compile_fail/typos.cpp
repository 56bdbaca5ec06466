// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Errors inside the functions of a program, for every verb that takes a function: a misspelt name,
// a missing capture, a member that does not exist. The compiler's own errors come, and none of
// belfry, also where the program uses the result of the verb. Each section fails; the rest
// compiles.
#include "belfry/belfry.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace belfry {

void replicas(Strategy& strategy, const MirroredVariable<double>& weight, double rate) {
  const auto doubled =
      strategy.run([&](ReplicaContext& replica) { return 2 * weight.on(replica) * rate; });
#ifdef RUN_WITH_A_TYPO
  // TYPO: 'rat'
  const auto scaled =
      strategy.run([&](ReplicaContext& replica) { return weight.on(replica) * rat; });
  const double first = scaled[0] + 1;
#endif
#ifdef RUN_WITHOUT_A_CAPTURE
  // TYPO: weight.*captured
  const auto seen = strategy.run([](ReplicaContext& replica) { return weight.on(replica); });
  const double first_seen = seen[0] + 1;
#endif
#ifdef RUN_WITH_A_WRONG_MEMBER
  // TYPO: no member named 'all_redcue'
  const auto sums = strategy.run(
      [&](ReplicaContext& replica) { return replica.all_redcue(ReduceOp::kSum, rate); });
#endif
#ifdef RUN_OF_A_GENERIC_FUNCTION_WITH_A_WRONG_MEMBER
  // ALL: no member named 'all_redcue'
  const auto generic_sums =
      strategy.run([&](auto& replica) { return replica.all_redcue(ReduceOp::kSum, rate); });
  const double generic_first = generic_sums[0] + 1;
#endif
#ifdef RUN_OF_A_GENERIC_FUNCTION_WITH_A_TYPO
  // ALL: 'rat'
  const auto generic_scaled =
      strategy.run([&](auto& replica, double by) { return weight.on(replica) * rat * by; }, 1.0);
  const double generic_first_scaled = generic_scaled[0] + 1;
#endif
#ifdef RUN_WITH_AN_UNKNOWN_CONTEXT
  // TYPO: ReplicaContxt|non-class type 'int'
  const auto ids = strategy.run([&](ReplicaContxt& replica) { return replica.replica_id(); });
#endif
#ifdef RUN_WITH_AN_UNKNOWN_CONTEXT_AND_WITHOUT_A_RESULT
  // TYPO: ReplicaContxt|non-class type 'int'
  strategy.run([&](ReplicaContxt& replica) { replica.merge_call([](CrossReplicaContext&) {}); });
#endif
#ifdef RUN_WITH_AN_UNKNOWN_CAPTURE
  // TYPO: 'wieght'
  strategy.run([wieght](ReplicaContext& replica) { return replica.replica_id(); });
#endif
  static_cast<void>(doubled);
}

void merges(Strategy& strategy, double rate) {
  strategy.run([&](ReplicaContext& replica) {
    return rate * replica.merge_call(
                      [&](CrossReplicaContext& cross, const PerReplica<double>& values) {
                        return rate * cross.reduce(ReduceOp::kSum, values)[0];
                      },
                      1.0);
  });
#ifdef MERGE_WITH_A_TYPO
  // TYPO: 'valeus'
  strategy.run([&](ReplicaContext& replica) {
    const auto sum = replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<double>& values) {
          return cross.reduce(ReduceOp::kSum, valeus);
        },
        1.0);
    return sum * 2;
  });
#endif
#ifdef MERGE_WITH_A_WRONG_MEMBER
  // ALL: no member named 'redcue'
  const auto wrong_sums = strategy.run([&](ReplicaContext& replica) {
    const auto sum = replica.merge_call(
        [](auto& cross, const auto& values) { return cross.redcue(ReduceOp::kSum, values); }, 1.0);
    return sum * 2;
  });
  const double wrong_sum = wrong_sums[0] + 1;
#endif
#ifdef MERGE_IN_A_GENERIC_FUNCTION_WITH_A_WRONG_MEMBER
  // ALL: no member named 'redcue'
  strategy.run([&](auto& replica) {
    const auto sum = replica.merge_call(
        [](auto& cross, const auto& values) { return cross.redcue(ReduceOp::kSum, values); }, 1.0);
    return sum * 2;
  });
#endif
#ifdef MERGE_WITH_AN_UNKNOWN_CONTEXT
  // TYPO: CrossReplicaContxt|non-class type 'int'
  strategy.run([&](ReplicaContext& replica) {
    return replica.merge_call([&](CrossReplicaContxt& cross) { return cross.num_replicas(); });
  });
#endif
#ifdef MERGE_WITH_A_TAG_AND_A_TYPO
  // TYPO: 'rat'
  strategy.run([&](ReplicaContext& replica) {
    replica.merge_call(MergeTag("rate"), [&](CrossReplicaContext&) { return rat; });
  });
#endif
}

void updates(CrossReplicaContext& cross, const MirroredVariable<double>& weight,
             const Mirrored<double>& mirrored, const std::vector<DeviceSpec>& devices,
             double rate) {
  cross.update(weight, [&](double& w, double by) { w -= rate * by; }, mirrored);
#ifdef UPDATE_WITH_A_TYPO
  // TYPO: 'rat'
  const auto steps = cross.update(weight, [&](double& w, double by) { return w -= rat * by; }, 1.0);
  const double step = steps.value() + 1;
#endif
#ifdef UPDATE_BY_A_GENERIC_FUNCTION_WITH_A_WRONG_MEMBER
  // ALL: is not a structure|non-class type
  cross.update(weight, [](auto& w, auto by) { return w.add(by); }, 1.0);
#endif
#ifdef UPDATE_EACH_WITH_A_TYPO
  // TYPO: 'rat'
  const auto each = cross.update_each(weight, [&](double& w) { return w -= rat; });
  const double each_first = each[0] + 1;
#endif
#ifdef UPDATE_EACH_BY_A_GENERIC_FUNCTION_WITH_A_WRONG_MEMBER
  // ALL: is not a structure|non-class type
  const auto each_sum = cross.update_each(weight, [](auto& w, auto by) { return w.add(by); }, 1.0);
  const double each_sum_first = each_sum[0] + 1;
#endif
#ifdef NON_SLOT_WITH_A_TYPO
  // TYPO: 'rat'
  const auto non_slot = cross.update_non_slot(devices, [&](double by) { return rat * by; }, 1.0);
  const double non_slot_first = non_slot.value() + 1;
#endif
#ifdef MAP_WITH_A_TYPO
  // TYPO: 'rat'
  const auto lists = cross.map(std::vector<int>{1, 2}, [&](int of) { return rat * of; });
  const double list_first = lists[0][0] + 1;
#endif
#ifdef MAP_BY_A_GENERIC_FUNCTION_WITH_A_TYPO
  // ALL: 'rat'
  cross.map(std::vector<int>{1, 2}, [&](auto of, auto by) { return rat * of * by; }, 2);
#endif
#ifdef FETCH_WITH_A_TYPO
  // TYPO: 'rat'
  const auto fetched = cross.fetch(mirrored, [&](double of) { return rat * of; });
  const double more = fetched + 1;
#endif
#ifdef FETCH_TO_A_DEVICE_WITHOUT_A_CAPTURE
  // TYPO: rate.*captured
  cross.fetch(mirrored, devices[0], [](double of) { return rate * of; });
#endif
}

void variables(Strategy& strategy, double initial) {
  strategy.mirrored_variable([&] { return initial; });
#ifdef VARIABLE_WITH_A_TYPO
  // TYPO: 'inital'
  const auto misspelt = strategy.mirrored_variable([&] { return inital; });
  const double value = strategy.read(misspelt) + 1;
#endif
#ifdef VARIABLE_WITHOUT_A_CAPTURE
  // TYPO: initial.*captured
  const auto uncaptured = strategy.variable([] { return initial; });
  const double uncaptured_value = strategy.read(uncaptured) + 1;
#endif
#ifdef REPLICA_LOCAL_VARIABLE_WITH_A_TYPO
  // TYPO: 'inital'
  const auto local = strategy.replica_local_variable(ReduceOp::kSum, [&] { return inital; });
  const double local_value = strategy.read(local) + 1;
#endif
#ifdef VARIABLE_OF_A_REDUCTION_WITH_A_TYPO
  // TYPO: 'inital'
  strategy.replica_local_variable(PromotedMean(), [&] { return inital; });
#endif
#ifdef CREATOR_WITH_A_TYPO
  // TYPO: 'inital'
  const auto scope = strategy.variable_creator_scope([&](VariableOptions&) { return inital; });
#endif
#ifdef VISIT_WITH_A_WRONG_MEMBER
  // ALL: no member named 'red'
  Variable<double>().visit([](auto handle) { return handle.red(); });
#endif
#ifdef TRANSACTION_WITH_A_TYPO
  // TYPO: 'inital'
  const auto done = strategy.transaction([&] { return inital; });
  const double again = done + 1;
#endif
}

void values(Strategy& strategy, const DistributeOptions& options, int count) {
  strategy.distribute_values([&](int id) { return id * count; });
#ifdef VALUES_WITH_A_TYPO
  // TYPO: 'cuont'
  const auto ids = strategy.distribute_values([&](int id) { return id * cuont; });
  const int id_first = ids[0] + 1;
#endif
#ifdef VALUES_OF_A_CONTEXT_WITH_A_WRONG_MEMBER
  // TYPO: no member named 'replica'
  strategy.distribute_values_from_function([&](const ValueContext& at) { return at.replica; });
#endif
#ifdef DATA_WITH_A_TYPO
  // TYPO: 'cuont'
  const auto steps = strategy.distribute_datasets_from_function(
      [&](InputContext) { return Dataset<int>::range(cuont); }, options);
  for (const auto& step : steps) static_cast<void>(step[0] + 1);
#endif
#ifdef DATA_OF_A_FUNCTION_WITH_A_TYPO
  // TYPO: 'cuont'
  strategy.distribute_datasets_from_function(
      [&](InputContext) { return [=] { return std::optional(cuont); }; }, options);
#endif
}

void datasets(const Dataset<int>& numbers, int count) {
  numbers.map([&](int of) { return of * count; }).filter([&](int of) { return of > count; });
#ifdef MAP_OF_A_DATASET_WITH_A_TYPO
  // TYPO: 'cuont'
  for (const int of : numbers.map([&](int from) { return from * cuont; })) static_cast<void>(of);
#endif
#ifdef MAP_OF_A_DATASET_BY_A_GENERIC_FUNCTION_WITH_A_WRONG_MEMBER
  // ALL: is not a structure|non-class type
  numbers.map([&](auto from) { return from.value(); }).batch(count);
#endif
#ifdef FILTER_WITHOUT_A_CAPTURE
  // TYPO: count.*captured
  numbers.filter([](int of) { return of > count; });
#endif
#ifdef GENERATOR_WITH_A_TYPO
  // TYPO: 'cuont'
  Dataset<int>::from_generator([&] { return cuont; });
#endif
#ifdef TABULATE_WITH_A_TYPO
  // TYPO: 'cuont'
  Dataset<std::int64_t>::tabulate(3, [&](std::int64_t index) { return index * cuont; });
#endif
}

}  // namespace belfry
