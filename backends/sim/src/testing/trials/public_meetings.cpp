// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The steps of a PublicProgram that all replicas take together, and the run.
#include "belfry/tensor_ops.h"
#include "testing/trials/order_trace.h"
#include "testing/trials/public_state.h"

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

namespace belfry::sim::testing {

using Kind = PublicStep::Kind;

void PublicState::take_together(ReplicaContext& replica, const PublicStep& step) {
  if (step.kind >= Kind::kAllGather || step.kind == Kind::kAllReduce) {
    return step.kind == Kind::kSharded ? change_rows(replica, step) : exchange(replica, step);
  }
  switch (step.kind) {
    case Kind::kAssignAdd:
      replica.assign_add(total_, slots_[static_cast<std::size_t>(replica.replica_id())]);
      return;
    case Kind::kMakeVariable:
    case Kind::kMakeLocal:
      return make_variable(replica, step);
    default:
      return merge(replica, step);
  }
}

void PublicState::make_variable(ReplicaContext& replica, const PublicStep& step) {
  const auto id = static_cast<std::size_t>(replica.replica_id());
  if (step.kind == Kind::kMakeLocal) {
    const auto made =
        strategy_.replica_local_variable(ReduceOp::kSum, [] { return 2.0; }, {.name = "local"});
    made.on(replica) += slots_[id];
    slots_[id] += made.on(replica);
    return;
  }
  const auto made =
      strategy_.mirrored_variable([] { return Tensor<float>::full(Shape{2}, 7.0F); },
                                  {.name = "made", .aggregation = Aggregation::kMean});
  own_[id] = add(own(replica), made.on(replica).copy_to(replica.placement()));
}

// On the stack of the merge: a lambda on the stack of a replica would be memory of the replica.
void PublicState::run_nested(PublicStep::Kind kind) {
  strategy_.run([&](ReplicaContext& inner) {
    double& slot = slots_[static_cast<std::size_t>(inner.replica_id())];
    slot += 1 + inner.replica_id();
    if (kind == Kind::kNestedReduce) slot += inner.all_reduce(ReduceOp::kSum, slot);
  });
}

void PublicState::merge(ReplicaContext& replica, const PublicStep& step) {
  double& slot = slots_[static_cast<std::size_t>(replica.replica_id())];
  double& cell = cells_[step.a % kCells];
  switch (step.kind) {
    case Kind::kMergeCell:
      return replica.merge_call([&](CrossReplicaContext&) { cell = 2 * cell + slots_[0]; });
    case Kind::kMergeOwn:
      slot += replica.merge_call(
          [](CrossReplicaContext&, const PerReplica<double>& slots) {
            double sum = 0;
            for (const double each : slots) sum = 2 * sum + each;
            return sum;
          },
          slot);
      return;
    case Kind::kMergeTensors:
      slot += replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& tensors) {
            return static_cast<double>(cross.reduce(ReduceOp::kMean, tensors).value().to_host()[0]);
          },
          own(replica));
      return;
    case Kind::kUpdate:
      return replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<double>& slots) {
            cross.update(
                total_, [](double& total, double sum) { total = 2 * total + sum; },
                cross.reduce(ReduceOp::kSum, slots));
          },
          slot);
    case Kind::kNestedRun:
    case Kind::kNestedReduce:
      return replica.merge_call([&](CrossReplicaContext&) { run_nested(step.kind); });
    default:
      return replica.merge_call(
          [](CrossReplicaContext&) { throw std::runtime_error("thrown by a merge"); });
  }
}

namespace {

// Each replica that takes part has an argument.
PerReplica<int> arguments_of(const PublicProgram& program) {
  std::vector<std::optional<int>> arguments(static_cast<std::size_t>(program.replicas), 0);
  if (program.masked >= 0) arguments[static_cast<std::size_t>(program.masked)].reset();
  return PerReplica<int>::from(std::move(arguments));
}

ProgramOutcome run_with(const PublicProgram& program, Backend& backend, Strategy& strategy,
                        OrderTrace* trace) {
  PublicState state(program, backend, strategy);
  ProgramOutcome outcome;
  try {
    strategy.run(
        [&](ReplicaContext& replica, int) {
          const auto id = static_cast<std::size_t>(replica.replica_id());
          for (std::size_t i = 0; i < program.steps[id].size(); ++i) {
            if (trace != nullptr) trace->take(replica.replica_id(), i);
            state.take(replica, program.steps[id][i]);
          }
        },
        arguments_of(program));
  } catch (const std::exception& exception) {
    outcome.second = exception.what();
  }
  outcome.first = state.values();
  return outcome;
}

}  // namespace

ProgramOutcome run(const PublicProgram& program, Backend& backend, OrderTrace* trace) {
  if (program.central) {
    CentralStorageStrategy strategy{backend};
    return run_with(program, backend, strategy, trace);
  }
  MirroredStrategy strategy{backend};
  return run_with(program, backend, strategy, trace);
}

}  // namespace belfry::sim::testing
