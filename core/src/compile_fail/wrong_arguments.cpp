// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Wrong arguments of verbs, of strategies' constructors and of the makers of datasets. The first
// error says what to write, and the output is short. Each section fails; the rest compiles.
#include "belfry/belfry.h"
#include "belfry/vjp.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belfry {

// Structures without members, a type for each section: a compiler reports a type once.
template <int Section>
struct Gradients {
  double weight = 0;
  double bias = 0;
};

void assignments(ReplicaContext& replica, const MirroredVariable<double>& mirrored,
                 const ReplicaLocalVariable<double>& local) {
  replica.assign(mirrored, 1.0);
  replica.assign_add(local, 1.0);
#ifdef ASSIGN_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  replica.assign(MirroredVariable<Gradients<1>>(), Gradients<1>());
#endif
#ifdef ASSIGN_ADD_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  replica.assign_add(MirroredVariable<Gradients<2>>(), Gradients<2>());
#endif
#ifdef ASSIGN_SUB_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  replica.assign_sub(MirroredVariable<Gradients<3>>(), Gradients<3>());
#endif
#ifdef ASSIGN_ADD_A_STRUCTURE_OF_A_REPLICA
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  replica.assign_add(ReplicaLocalVariable<Gradients<4>>(), Gradients<4>());
#endif
}

void creators(Strategy& strategy) {
  const VariableScope scope = strategy.variable_creator_scope([](VariableOptions&) {});
  const VariableScope empty = strategy.variable_creator_scope({});
#ifdef CREATOR_OF_A_NUMBER
  // FIRST: write \[&\]\(VariableOptions& options\) \{...\}
  const VariableScope of_number = strategy.variable_creator_scope([](int) {});
#endif
#ifdef CREATOR_WITH_TWO_PARAMETERS
  // FIRST: write \[&\]\(VariableOptions& options\) \{...\}
  const VariableScope two = strategy.variable_creator_scope([](VariableOptions&, int) {});
#endif
#ifdef A_NUMBER_AS_A_CREATOR
  // FIRST: write \[&\]\(VariableOptions& options\) \{...\}
  const VariableScope number = strategy.variable_creator_scope(3);
#endif
}

// Strategies as members: clang takes braces in the initializer of a member for any parameter.
struct Members {
  HostBackend host{2};
  MirroredStrategy mirrored{host, {.order = ReductionOrder::kTree}};
  MirroredStrategy plain{host};
  CentralStorageStrategy central{host, {.order = ReductionOrder::kTree}};
};

void constructors(HostBackend& host, Backend& backend, ProcessGroup& group,
                  const std::vector<DeviceSpec>& devices) {
  const Members members;
  MirroredStrategy whole(backend);
  const MirroredStrategy part(host, {.devices = devices});
  const MirroredStrategy listed(host, {devices});
  const MirroredStrategy placed{host, {.order = ReductionOrder::kTree}, CallSite::here()};
  const CentralStorageStrategy central(host, {.storage = devices[0]});
  const MultiWorkerMirroredStrategy spread(host, group);
  const OneDeviceStrategy one(host, devices[0]);
#ifdef MIRRORED_OVER_TEXTS
  // FIRST: write MirroredStrategy strategy\(backend, \{.devices =
  const MirroredStrategy texts({"GPU:0", "GPU:1"});
#endif
#ifdef MIRRORED_OVER_A_LIST_OF_TEXTS
  // FIRST: write MirroredStrategy strategy\(backend, \{.devices =
  const MirroredStrategy list(backend, {"GPU:0"});
#endif
#ifdef MIRRORED_OVER_NOTHING
  // FIRST: write MirroredStrategy strategy\(backend, \{.devices =
  const MirroredStrategy nothing;
#endif
#ifdef MIRRORED_OVER_A_NUMBER
  // FIRST: write MirroredStrategy strategy\(backend, \{.devices =
  const MirroredStrategy number(2);
#endif
#ifdef MIRRORED_OVER_DEVICES
  // FIRST: write MirroredStrategy strategy\(backend, \{.devices =
  const MirroredStrategy direct(backend, devices);
#endif
#ifdef MIRRORED_OVER_A_POINTER
  // FIRST: write MirroredStrategy strategy\(backend, \{.devices =
  const MirroredStrategy shared(std::make_shared<HostBackend>(2));
#endif
#ifdef CENTRAL_STORAGE_WITH_OTHER_OPTIONS
  // FIRST: and CentralStorageOptions unless all devices take part
  const CentralStorageStrategy other(backend, StrategyOptions());
#endif
#ifdef PROCESSES_WITHOUT_A_GROUP
  // FIRST: write MultiWorkerMirroredStrategy strategy\(backend, group\)
  const MultiWorkerMirroredStrategy alone(backend);
#endif
#ifdef ONE_DEVICE_AS_TEXT
  // FIRST: write OneDeviceStrategy strategy\(backend, DeviceSpec::parse\(\\?"GPU:0\\?"\)\)
  const OneDeviceStrategy text(backend, "GPU:0");
#endif
#ifdef ONE_DEVICE_WITHOUT_A_DEVICE
  // FIRST: write OneDeviceStrategy strategy\(backend, DeviceSpec::parse\(\\?"GPU:0\\?"\)\)
  const OneDeviceStrategy without(backend);
#endif
}

void reductions(CrossReplicaContext& cross, const PerReplica<double>& values,
                const PerReplica<std::vector<int>>& rows) {
  cross.reduce(ReduceOp::kSum, values);
  cross.reduce(ReduceOp::kSum, values, "GPU:0", CallSite::here());
  cross.reduce(ReduceOp::kSum, rows, Axis(0));
  cross.reduce(ReduceOp::kMean, cross.broadcast(1.0));
  cross.group(values);
#ifdef X11_X12_X13_RED_21_REDUCE_A_PLAIN_NUMBER
  // FIRST: write reduce\(ReduceOp::kSum, values\) for
  // Overridden: what is reduced is a PerReplica or a Mirrored, whatever the number, the operator
  // and N.
  cross.reduce(ReduceOp::kSum, 5.0);
#endif
#ifdef X17_REDUCE_A_LIST
  // FIRST: write reduce\(ReduceOp::kSum, values\) for
  cross.reduce(ReduceOp::kSum, std::vector<int>{1, 2});
#endif
#ifdef X20_SUM_OF_A_MIRRORED_VARIABLE
  // FIRST: write strategy.read\(variable\)
  cross.reduce(ReduceOp::kSum, MirroredVariable<int>());
#endif
#ifdef REDUCE_WITHOUT_AN_OPERATOR
  // FIRST: write reduce\(ReduceOp::kSum, values\)
  cross.reduce(values);
#endif
#ifdef X16_DESTINATION_IS_A_NUMBER
  // FIRST: write, for example, reduce\(ReduceOp::kSum, values, device\)
  cross.reduce(ReduceOp::kSum, values, 7);
#endif
#ifdef RED_23_AXIS_IS_A_NUMBER
  // FIRST: write, for example, reduce\(ReduceOp::kSum, values, device\)
  cross.reduce(ReduceOp::kSum, rows, 0);
#endif
#ifdef FOLD_A_MIRRORED
  // FIRST: write ReduceOp::kMean, or use the Mirrored
  cross.reduce(TruncatedMean(), cross.broadcast(1));
#endif
#ifdef GROUP_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  cross.group(Gradients<5>());
#endif
#ifdef GROUP_STRUCTURES_OF_REPLICAS
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<Gradients<6>> to_group = {{}, {}};
  cross.group(to_group);
#endif
}

void makers_of_datasets() {
  Dataset<int>::from_generator([] { return [] { return std::optional<int>(1); }; });
  Dataset<double>::tabulate(3, [](int i) { return i; });
#ifdef GENERATOR_OF_A_NUMBER
  // FIRST: write \[\] \{ return \[next = 0\]\(\) mutable -> std::optional<T>
  Dataset<int>::from_generator([] { return 1; });
#endif
#ifdef GENERATOR_WITH_A_PARAMETER
  // FIRST: write \[\] \{ return \[next = 0\]\(\) mutable -> std::optional<T>
  Dataset<int>::from_generator([](int) { return [] { return 1; }; });
#endif
#ifdef A_NUMBER_AS_A_GENERATOR
  // FIRST: write \[\] \{ return \[next = 0\]\(\) mutable -> std::optional<T>
  Dataset<int>::from_generator(3);
#endif
#ifdef TABULATE_WITHOUT_A_PARAMETER
  // FIRST: write \[\]\(std::int64_t index\) \{ return ...; \}
  Dataset<int>::tabulate(3, [] { return 1; });
#endif
#ifdef TABULATE_WITHOUT_A_COUNT
  // FIRST: write tabulate\(count, \[\]\(std::int64_t index\) \{ return ...; \}\)
  Dataset<int>::tabulate([](int) { return 1; });
#endif
#ifdef TABULATE_WITHOUT_A_FUNCTION
  // FIRST: write tabulate\(count, \[\]\(std::int64_t index\) \{ return ...; \}\)
  Dataset<int>::tabulate(3);
#endif
#ifdef TABULATE_OF_A_TEXT
  // FIRST: write \[\]\(std::int64_t index\) \{ return ...; \}
  Dataset<int>::tabulate(3, [](int) { return "a"; });
#endif
}

void products(ReplicaContext& replica, CrossReplicaContext& cross) {
  all_reduce_vjp(replica, ReduceOp::kSum, 1.0);
  reduce_vjp(cross, ReduceOp::kSum, 1.0);
#ifdef ALL_REDUCE_VJP_OF_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  all_reduce_vjp(replica, ReduceOp::kSum, Gradients<7>());
#endif
#ifdef ALL_GATHER_VJP_OF_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  all_gather_vjp(replica, Gradients<8>(), Gradients<8>());
#endif
#ifdef REDUCE_VJP_OF_A_STRUCTURE
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  reduce_vjp(cross, ReduceOp::kSum, Gradients<9>());
#endif
#ifdef REDUCE_VJP_OF_STRUCTURES
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<Gradients<10>> reduced = {{}, {}};
  reduce_vjp(cross, ReduceOp::kSum, reduced, Gradients<10>());
#endif
#ifdef BROADCAST_VJP_OF_STRUCTURES
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<Gradients<11>> cotangents = {{}, {}};
  broadcast_vjp(cross, cotangents);
#endif
#ifdef GATHER_VJP_OF_STRUCTURES
  // FIRST: write static auto members\(auto& self\) \{ return std::tie\(self.first, self.second\);
  const PerReplica<Gradients<12>> joined = {{}, {}};
  gather_vjp(cross, joined, Gradients<12>());
#endif
#ifdef ALL_REDUCE_VJP_IN_A_MERGE
  // FIRST: write reduce_vjp\(cross, op, cotangent\) in a merge
  all_reduce_vjp(cross, ReduceOp::kSum, 1.0);
#endif
#ifdef ALL_GATHER_VJP_IN_A_MERGE
  // FIRST: write gather_vjp\(cross, value, cotangent\) in a merge
  all_gather_vjp(cross, 1.0, 1.0);
#endif
#ifdef REDUCE_VJP_IN_A_REPLICA
  // FIRST: write all_reduce_vjp\(replica, op, cotangent\) in a replica
  reduce_vjp(replica, ReduceOp::kSum, 1.0);
#endif
#ifdef BROADCAST_VJP_IN_A_REPLICA
  // FIRST: write replica.merge_call\(fn, cotangent\), with the call in fn
  broadcast_vjp(replica, 1.0);
#endif
#ifdef GATHER_VJP_IN_A_REPLICA
  // FIRST: write all_gather_vjp\(replica, value, cotangent\) in a replica
  gather_vjp(replica, 1.0, 1.0);
#endif
}

struct Fixed {
  int parts = 0;
};

template <>
struct ElementTraits<Fixed> {
  static Fixed zero() { return {}; }
  static Fixed add(Fixed a, Fixed b) { return {a.parts + b.parts}; }
  static std::string text(Fixed value) { return std::to_string(value.parts); }
};

void tensors_over(std::span<Fixed> fixed, std::span<float> numbers) {
  Tensor<float>::over({2}, numbers);
#ifdef TENSOR_OVER_ELEMENTS_OF_THE_PROGRAM
  // FIRST: write std::vector<T> for values in host memory
  Tensor<Fixed>::over({2}, fixed);
#endif
}

}  // namespace belfry
