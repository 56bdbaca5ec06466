// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Errors inside the functions of a program that uses the older names, and functions with wrong
// parameters. Inside a function the compiler's own errors come, and none of belfry. Each section
// fails; the rest compiles.
#include "belfry/tower.h"

#include <vector>

namespace belfry {

void towers(Strategy& strategy, const MirroredVariable<double>& weight, double rate) {
  tower::call_for_each_tower(strategy, [&](double by) { return rate * by; }, 1.0);
#ifdef TOWERS_WITH_A_TYPO
  // TYPO: 'rat'
  const auto scaled = tower::call_for_each_tower(
      strategy, [&](tower::TowerContext& tower) { return weight.on(tower) * rat; });
  const double first = scaled[0] + 1;
#endif
#ifdef TOWERS_WITHOUT_A_CAPTURE
  // TYPO: rate.*captured
  const auto same = tower::run(strategy, [](tower::TowerContext&) { return rate; });
  const double first_same = same[0] + 1;
#endif
#ifdef TOWERS_WITHOUT_A_CONTEXT_WITH_A_TYPO
  // TYPO: 'rat'
  const auto alone = tower::for_each_tower(strategy, [&](double by) { return rat * by; }, 1.0);
  const double first_alone = alone[0] + 1;
#endif
#ifdef TOWERS_WITHOUT_AN_ARGUMENT_WITH_A_TYPO
  // TYPO: 'rat'
  const auto none = tower::call_for_each_replica(strategy, [&] { return rat; });
  const double first_none = none[0] + 1;
#endif
#ifdef TOWERS_OF_A_GENERIC_FUNCTION_WITH_A_WRONG_MEMBER
  // ALL: no member named 'towr_id'
  const auto ids = tower::run(strategy, [](auto& tower) { return tower.towr_id(); });
  const int first_id = ids[0] + 1;
#endif
#ifdef TOWERS_WITH_AN_UNKNOWN_CONTEXT
  // TYPO: TowerContxt|'num_replicas'
  tower::run(strategy, [&](tower::TowerContxt& tower) { return tower.num_replicas(); });
#endif
#ifdef TOWERS_WITHOUT_A_PARAMETER
  // FIRST: write \[&\]\(TowerContext& tower, const A& a\) \{...\}, with an A for each argument
  tower::run(strategy, [&](tower::TowerContext&) { return rate; }, 1.0);
#endif
#ifdef TOWERS_OF_TWO_NUMBERS
  // FIRST: write \[&\]\(TowerContext& tower, const A& a\) \{...\}, with an A for each argument
  const auto of_two = tower::call_for_each_tower(strategy, [](int a, int b) { return a + b; }, 3);
  const double first_of_two = of_two[0];
#endif
#ifdef TOWERS_BY_A_NUMBER
  // FIRST: write \[&\]\(TowerContext& tower, const A& a\) \{...\}, with an A for each argument
  const auto by_number = tower::run(strategy, 3);
  const double first_by_number = by_number[0];
#endif
}

void merges(tower::TowerContext& tower, double rate) {
  tower::merge_call(tower, [&](tower::CrossTowerContext&) { return rate; });
  tower::merge_call(tower, [&](tower::DistributionStrategy&) { return rate; });
#ifdef TOWERS_MERGE_WITHOUT_A_CAPTURE
  // TYPO: rate.*captured
  const auto merged = tower::merge_call(tower, [](tower::CrossTowerContext&) { return rate; });
  const double more = merged + 1;
#endif
#ifdef TOWERS_MERGE_WITH_A_TAG_AND_A_TYPO
  // TYPO: 'rat'
  tower::merge_call(tower, MergeTag("rate"), [&](tower::CrossTowerContext&) { return rat; });
#endif
#ifdef TOWERS_MERGE_OF_THE_STRATEGY_WITH_A_TYPO
  // TYPO: 'rat'
  tower::merge_call(tower, [&](tower::DistributionStrategy&) { return rat; });
#endif
#ifdef TOWERS_MERGE_OF_THE_STRATEGY_WITHOUT_A_PARAMETER
  // FIRST: write \[&\]\(CrossReplicaContext& cross, const PerReplica<A>& a\) \{...\}, with a
  tower::merge_call(tower, [](tower::DistributionStrategy&) { return 1; }, rate);
#endif
#ifdef TOWERS_MERGE_WITHOUT_A_PARAMETER
  // FIRST: write \[&\]\(CrossReplicaContext& cross, const PerReplica<A>& a\) \{...\}, with a
  tower::merge_call(tower, [](tower::CrossTowerContext&) { return 1; }, rate);
#endif
}

void verbs(tower::CrossTowerContext& cross, const MirroredVariable<double>& weight,
           const Mirrored<double>& mirrored, const std::vector<DeviceSpec>& devices, double rate) {
  tower::update(cross, weight, [&](double& w, double by) { w -= rate * by; }, mirrored);
#ifdef TOWERS_UPDATE_WITH_A_TYPO
  // TYPO: 'rat'
  const auto steps = tower::update(cross, weight, [&](double& w) { return w -= rat; });
  const double step = steps.value() + 1;
#endif
#ifdef TOWERS_UPDATE_WITHOUT_A_PARAMETER
  // FIRST: the function of update is called as fn\(T&, const A&...\): write \[&\]\(T& component,
  tower::update(cross, weight, [](double& w) { w -= 1; }, rate);
#endif
#ifdef TOWERS_NON_SLOT_WITH_A_TYPO
  // TYPO: 'rat'
  tower::update_non_slot(cross, devices, [&](double by) { return rat * by; }, 1.0);
#endif
#ifdef TOWERS_MAP_WITH_A_TYPO
  // TYPO: 'rat'
  const auto lists = tower::map(cross, std::vector<int>{1, 2}, [&](int of) { return rat * of; });
  const double list_first = lists[0][0] + 1;
#endif
#ifdef TOWERS_FETCH_WITH_A_TYPO
  // TYPO: 'rat'
  const auto fetched = tower::fetch(cross, mirrored, [&](double of) { return rat * of; });
  const double more = fetched + 1;
#endif
}

void blocks(Strategy& strategy, const DistributeOptions& options, int count) {
  tower::colocate_variables_with(strategy, strategy.devices(), [&] { return count; });
#ifdef TOWERS_COLOCATE_WITH_A_TYPO
  // TYPO: 'cuont'
  tower::colocate_variables_with(strategy, strategy.devices(), [&] { return cuont; });
#endif
#ifdef TOWERS_SCOPE_WITHOUT_A_CAPTURE
  // TYPO: count.*captured
  tower::tower_local_variable_scope(strategy, "sum", [] { return count; });
#endif
#ifdef TOWERS_INPUT_WITH_A_TYPO
  // TYPO: 'cuont'
  auto steps = tower::make_input_fn_iterator(
      strategy, [&](InputContext) { return Dataset<int>::range(cuont); }, options);
  steps.get_next();
#endif
}

}  // namespace belfry
