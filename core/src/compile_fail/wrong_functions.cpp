// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Wrong functions, for every verb that takes a function of the user's, and structures without
// members, for the verbs that walls.cpp lacks. The first error says what to write, and the output
// is short. Each section fails; the rest compiles.
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

struct WithoutFinalize {
  double combine(double folded, double next) const { return folded < next ? next : folded; }
};

void updates(CrossReplicaContext& cross, const MirroredVariable<double>& weight,
             const Mirrored<double>& mirrored, const PerReplica<double>& values) {
  cross.update(weight, [](double& w, double by) { w -= by; }, mirrored);
#ifdef UPDATE_FUNCTION_WITHOUT_AN_ARGUMENT
  // FIRST: the function of update is called as fn\(T&, const A&...\): write \[&\]\(T& component,
  cross.update(weight, [](double& w, double by) { w -= by; });
#endif
#ifdef UPDATE_FUNCTION_WITHOUT_A_PARAMETER
  // FIRST: the function of update is called as fn\(T&, const A&...\): write \[&\]\(T& component,
  cross.update(weight, [](double& w) { w -= 1; }, 1.0);
#endif
#ifdef UPDATE_FUNCTION_OF_ANOTHER_TYPE
  // FIRST: the function of update is called as fn\(T&, const A&...\): write \[&\]\(T& component,
  cross.update(weight, [](double& w, const std::vector<double>& by) { w -= by[0]; }, 1.0);
#endif
#ifdef A_NUMBER_AS_A_FUNCTION_OF_UPDATE
  // FIRST: the function of update is called as fn\(T&, const A&...\): write \[&\]\(T& component,
  cross.update(weight, 1.0);
#endif
#ifdef A_RESULT_OF_A_WRONG_UPDATE
  // FIRST: the function of update is called as fn\(T&, const A&...\): write \[&\]\(T& component,
  const Mirrored<double> result =
      cross.update(weight, [](double& w, double by) { return w -= by; });
#endif
#ifdef UPDATE_A_COPY
  // FIRST: the function of update must take the component as T&
  cross.update(weight, [](double w, double by) { w -= by; }, 1.0);
#endif
#ifdef UPDATE_A_MIRRORED
  // FIRST: update changes a variable: write update\(variable, \[&\]\(T& component,
  cross.update(mirrored, [](double& w) { w -= 1; });
#endif
#ifdef UPDATE_BY_A_PER_REPLICA
  // FIRST: update takes Mirrored or plain arguments: reduce a PerReplica first
  cross.update(weight, [](double& w, double by) { w -= by; }, values);
#endif
#ifdef UPDATE_EACH_WITHOUT_AN_ARGUMENT
  // FIRST: the function of update_each is called as fn\(T&, const A&...\): write
  cross.update_each(weight, [](double& w, double by) { return w -= by; });
#endif
#ifdef UPDATE_EACH_WITHOUT_A_RESULT
  // FIRST: update_each is for functions that return something: write update
  cross.update_each(weight, [](double& w, double by) { w -= by; }, 1.0);
#endif
  static_cast<void>(values);
}

void functions_on_devices(CrossReplicaContext& cross, const std::vector<DeviceSpec>& devices,
                          const std::vector<int>& elements, const Mirrored<double>& mirrored,
                          const PerReplica<double>& values) {
  cross.update_non_slot(devices, [](double by) { return by; }, 1.0);
  cross.map(elements, [](int a, double by) { return a * by; }, mirrored);
#ifdef NON_SLOT_FUNCTION_WITHOUT_AN_ARGUMENT
  // FIRST: the function of update_non_slot is called as fn\(const A&...\): write \[&\]\(const A&
  // a\)
  cross.update_non_slot(devices, [](double by) { return by; });
#endif
#ifdef NON_SLOT_FUNCTION_WITHOUT_A_PARAMETER
  // FIRST: the function of update_non_slot is called as fn\(const A&...\): write \[&\]\(const A&
  // a\)
  cross.update_non_slot(devices, [] { return 1; }, 1.0);
#endif
#ifdef NON_SLOT_WITHOUT_DEVICES
  // FIRST: write update_non_slot\(devices, \[&\]\(const A& a\) \{...\}, a\)
  cross.update_non_slot([] { return 1; });
#endif
#ifdef MAP_FUNCTION_WITHOUT_AN_ARGUMENT
  // FIRST: the function of map is called as fn\(const X&, const A&...\): write \[&\]\(const X&
  // element,
  const PerReplica<std::vector<double>> mapped =
      cross.map(elements, [](int a, double by) { return a * by; });
#endif
#ifdef MAP_FUNCTION_WITHOUT_A_PARAMETER
  // FIRST: the function of map is called as fn\(const X&, const A&...\): write \[&\]\(const X&
  // element,
  cross.map(elements, [](int a) { return a; }, 1.0);
#endif
#ifdef A_NUMBER_AS_A_FUNCTION_OF_MAP
  // FIRST: the function of map is called as fn\(const X&, const A&...\): write \[&\]\(const X&
  // element,
  cross.map(elements, 1.0);
#endif
#ifdef MAP_FUNCTION_WITHOUT_A_RESULT
  // FIRST: returns nothing here: write a return in the function
  cross.map(elements, [](int) {});
#endif
#ifdef MAP_A_NUMBER
  // FIRST: write map\(elements, \[&\]\(const X& element, const A& a\) \{...\}, a\)
  cross.map(3, [](int a) { return a; });
#endif
#ifdef MAP_BY_A_PER_REPLICA
  // FIRST: map takes Mirrored or plain arguments: reduce a PerReplica first
  cross.map(elements, [](int a, double by) { return a * by; }, values);
#endif
  static_cast<void>(values);
}

void fetches(CrossReplicaContext& cross, const std::vector<DeviceSpec>& devices,
             const Mirrored<double>& mirrored) {
  cross.fetch(mirrored, [](double value) { return value; });
  cross.fetch(mirrored, devices[0], [](double value) { return value; });
#ifdef FETCH_FUNCTION_WITH_TWO_PARAMETERS
  // FIRST: the function of fetch is called as fn\(const T&\), and returns a value: write
  cross.fetch(mirrored, [](double a, double b) { return a * b; });
#endif
#ifdef FETCH_FUNCTION_TO_A_DEVICE_WITH_TWO_PARAMETERS
  // FIRST: the function of fetch is called as fn\(const T&\), and returns a value: write
  cross.fetch(mirrored, devices[0], [](double a, double b) { return a * b; });
#endif
#ifdef FETCH_FUNCTION_WITHOUT_A_RESULT
  // FIRST: the function of fetch is called as fn\(const T&\), and returns a value: write
  cross.fetch(mirrored, [](double) {});
#endif
}

void reductions(CrossReplicaContext& cross, ReplicaContext& replica,
                const PerReplica<double>& values) {
  cross.reduce(PromotedMean(), values);
  replica.all_reduce(TruncatedMean(), 1.0);
#ifdef REDUCE_BY_A_FUNCTION
  // FIRST: write a class with T combine\(T folded, const T& next\) const and T finalize\(T folded,
  // int
  cross.reduce([](double a, double b) { return a + b; }, values);
#endif
#ifdef REDUCE_WITHOUT_FINALIZE
  // FIRST: write a class with T combine\(T folded, const T& next\) const and T finalize\(T folded,
  // int
  cross.reduce(WithoutFinalize(), values);
#endif
#ifdef ALL_REDUCE_BY_A_FUNCTION
  // FIRST: write a class with T combine\(T folded, const T& next\) const and T finalize\(T folded,
  // int
  replica.all_reduce([](double a, double b) { return a + b; }, 1.0);
#endif
#ifdef TRUNCATED_MEAN_OF_A_STRUCTURE
  // FIRST: TruncatedMean and PromotedMean take nests
  replica.all_reduce(TruncatedMean(), Gradients<1>());
#endif
}

void makers(Strategy& strategy, const DistributeOptions& options) {
  strategy.mirrored_variable([] { return 1.0; });
  strategy.distribute_values([](int id) { return id; });
  strategy.distribute_datasets_from_function([](InputContext) { return Dataset<int>::range(1); },
                                             options);
  strategy.transaction([] {});
#ifdef VARIABLE_READ_BY_A_NUMBER
  // FIRST: write a class with T combine\(T folded, const T& next\) const and
  strategy.replica_local_variable(3, 1.0);
#endif
#ifdef VARIABLE_READ_WITHOUT_FINALIZE
  // FIRST: write a class with T combine\(T folded, const T& next\) const and
  strategy.replica_local_variable(WithoutFinalize(), 1.0F);
#endif
#ifdef VARIABLE_OF_NOTHING
  // FIRST: returns nothing here: write \[&\] \{ return value; \}
  strategy.mirrored_variable([] {});
#endif
#ifdef VARIABLE_OF_A_UNIQUE_PTR
  // FIRST: cannot be copied: write, for example, a std::shared_ptr
  strategy.mirrored_variable([] { return std::make_unique<int>(1); });
#endif
#ifdef VALUES_WITHOUT_A_REPLICA
  // FIRST: write \[&\]\(int replica_id\) \{ return ...; \}
  strategy.distribute_values([] { return 1.0; });
#endif
#ifdef VALUES_OF_NOTHING
  // FIRST: write \[&\]\(int replica_id\) \{ return ...; \}
  strategy.distribute_values([](int) {});
#endif
#ifdef VALUES_WITHOUT_A_CONTEXT
  // FIRST: write \[&\]\(const ValueContext& context\) \{ return ...; \}
  strategy.distribute_values_from_function([](int id) { return id; });
#endif
#ifdef DATA_WITHOUT_A_CONTEXT
  // FIRST: write \[&\]\(const InputContext& context\) \{ return dataset; \}
  strategy.distribute_datasets_from_function([] { return Dataset<int>::range(1); }, options);
#endif
#ifdef DATA_OF_A_NUMBER
  // FIRST: write \[&\]\(const InputContext& context\) \{ return dataset; \}
  strategy.distribute_datasets_from_function([](InputContext) { return 3; }, options);
#endif
#ifdef TRANSACTION_WITH_A_PARAMETER
  // FIRST: transaction calls fn\(\): write \[&\] \{...\}
  strategy.transaction([](int) { return 1; });
#endif
#ifdef VISIT_WITHOUT_A_PARAMETER
  // FIRST: visit calls fn with a handle of either kind: write \[&\]\(auto handle\)
  Variable<double>().visit([] {});
#endif
}

void datasets(const Dataset<int>& numbers) {
  numbers.map([](int a) { return a; }).filter([](int a) { return a > 0; });
#ifdef MAP_OF_A_DATASET_WITH_TWO_PARAMETERS
  // FIRST: write \[\]\(const T& element\) \{ return ...; \}
  numbers.map([](int a, int b) { return a + b; });
#endif
#ifdef MAP_OF_A_DATASET_WITHOUT_A_RESULT
  // FIRST: write \[\]\(const T& element\) \{ return ...; \}
  numbers.map([](int) {});
#endif
#ifdef FILTER_WITH_TWO_PARAMETERS
  // FIRST: filter calls keep\(element\): write \[\]\(const T& element\)
  numbers.filter([](int a, int b) { return a < b; });
#endif
}

void structures(CrossReplicaContext& cross, ReplicaContext& replica,
                const PerReplica<std::vector<int>>& values) {
  cross.reduce(ReduceOp::kSum, values, Axis(0));
  replica.all_gather(values[0], Axis(0));
#ifdef REDUCE_MAPPED_STRUCTURES
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<std::vector<Gradients<2>>> lists = {{}, {}};
  cross.reduce_mapped(ReduceOp::kSum, lists);
#endif
#ifdef ASSIGN_A_TOTAL_OF_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  cross.assign_total(ReplicaLocalVariable<Gradients<3>>(), Gradients<3>());
#endif
#ifdef SAVE_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  Checkpoint(cross.strategy()).add(MirroredVariable<Gradients<4>>());
#endif
#ifdef GATHER_A_STRUCTURE_ALONG_AN_AXIS
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<Gradients<5>> to_gather = {{}, {}};
  cross.gather(to_gather, Axis(0));
#endif
#ifdef ALL_GATHER_A_STRUCTURE_ALONG_AN_AXIS
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  replica.all_gather(Gradients<6>(), Axis(0));
#endif
#ifdef REDUCE_A_STRUCTURE_ALONG_AN_AXIS
  // FIRST: write reduce for each member of a structure
  const PerReplica<Gradients<7>> along = {{}, {}};
  cross.reduce(ReduceOp::kSum, along, Axis(0));
#endif
}

}  // namespace belfry
