// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "processes/device_steps.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace belfry::testing {
namespace {

double folded(const std::vector<double>& elements) {
  double sum = 0;
  for (const double element : elements) sum = 0.25 * sum + element;
  return sum;
}

double folded(const Tensor<double>& tensor) { return folded(tensor.to_host()); }

Tensor<double> two(double x) { return Tensor<double>::from({2}, {x, 1 - x}); }

struct LargestElements {
  Tensor<double> combine(Tensor<double> folded, const Tensor<double>& next) const {
    return maximum(folded, next);
  }
  Tensor<double> finalize(Tensor<double> folded, int replicas) const {
    return folded * (1 + 0.125 * replicas);
  }
};

double merge_tensors(ReplicaContext& replica, Verb verb, double x) {
  switch (verb) {
    case Verb::kMergeTensorBroadcast:
      return folded(replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<Tensor<double>>& all) {
            return cross.broadcast(*all.begin());
          },
          two(x)));
    case Verb::kMergeTensorBatch:
      return folded(
          replica
              .merge_call(
                  [](CrossReplicaContext& cross, const PerReplica<Tensor<double>>& a,
                     const PerReplica<double>& b) {
                    const auto [tensors, numbers] = cross.batch_reduce(ReduceOp::kMean, a, b);
                    return cross.map(
                        std::vector<double>(12, numbers.value()),  // Of at most 12 replicas.
                        [](double one, const Tensor<double>& own) { return own * one; }, tensors);
                  },
                  two(x), x)
              .front());
    case Verb::kMergeTensorAxis: {
      const auto rows = static_cast<std::int64_t>(replica.replica_id() % 2 + 1);
      return folded(replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<Tensor<double>>& all) {
            return cross.reduce(ReduceOp::kMean, all, Axis(0));
          },
          Tensor<double>::full({rows, 2}, x)));
    }
    default:
      return folded(replica.merge_call(
          [](CrossReplicaContext& cross, const PerReplica<Tensor<double>>& all) {
            return cross.reduce(LargestElements{}, all);
          },
          two(x)));
  }
}

// Changes of all components in a merge.
double change_in_merge(ReplicaContext& replica, Verb verb, double x, ProgramVariables& own) {
  const auto change = [&own](CrossReplicaContext& cross, double total) {
    cross.assign_total(own.count, total, total < 0 ? SumSplit::kFirst : SumSplit::kDivide);
    cross.update(
        own.rows, [](Tensor<float>& rows, double by) { rows = rows * 0.5F + float(by); }, total);
  };
  return replica.merge_call(
      [&](CrossReplicaContext& cross, const PerReplica<double>& all) {
        const double total = std::fmod(cross.reduce(ReduceOp::kSum, all).value(), 64);
        if (verb == Verb::kChangeLocal) {
          change(cross, total);
        } else {
          const auto undone = [&] {
            change(cross, 1 - total);
            cross.update(own.weight, [](double& weight, double by) { weight += by; }, total);
            if (total > 0) throw PlannedFault("undo");
          };
          try {
            cross.strategy().transaction(undone);
          } catch (const PlannedFault&) {
          }
        }
        const std::vector<float> rows = cross.strategy().read(own.rows).to_host();
        return cross.strategy().read(own.count) + double(rows[0]);
      },
      x);
}

double change_variables(ReplicaContext& replica, Verb verb, double x, ProgramVariables& own) {
  switch (verb) {
    case Verb::kAssignMirrored:
      replica.assign_add(own.weight, x);
      return own.weight.on(replica);
    case Verb::kAssignTable:
      replica.assign_sub(own.table, two(x));
      return folded(own.table.on(replica));
    case Verb::kUpdate:
      replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<double>& all) {
            const Mirrored<double> mean = cross.reduce(ReduceOp::kMean, all);
            return cross.update(
                own.table,
                [](Tensor<double>& table, double by, double weight) {
                  table = table * 0.5 + (by - weight);
                  return by;
                },
                mean, own.weight);
          },
          x);
      return folded(own.table.on(replica));
    case Verb::kChangeLocal:
    case Verb::kTransaction:
      return change_in_merge(replica, verb, x, own);
    default:
      replica.assign_add(own.count, x);
      replica.assign_add(own.rows, Tensor<float>::full({3}, float(x)));
      return replica.merge_call([&](CrossReplicaContext& cross) {
        const std::vector<float> rows = cross.strategy().read(own.rows).to_host();
        return cross.strategy().read(own.count) + double(rows[0]);
      });
  }
}

}  // namespace

ProgramVariables::ProgramVariables(Strategy& strategy, double first)
    : weight(
          strategy.mirrored_variable([&] { return first; }, {.aggregation = Aggregation::kMean})),
      table(strategy.mirrored_variable([&] { return Tensor<double>::from({2}, {first, -first}); },
                                       {.aggregation = Aggregation::kSum})),
      count(strategy.replica_local_variable(ReduceOp::kSum, [&] { return first / 8; })),
      rows(strategy.replica_local_variable(
          ReduceOp::kMean, [&] { return Tensor<float>::full({3}, float(first / 4)); })) {}

double step_on_devices(ReplicaContext& replica, Verb verb, double x, ProgramVariables& variables) {
  switch (verb) {
    case Verb::kTensorSum:
      return folded(replica.all_reduce(ReduceOp::kSum, two(x)));
    case Verb::kTensorMean: {
      using Mixed = std::vector<std::optional<Tensor<float>>>;
      const Mixed mean = replica.all_reduce(
          ReduceOp::kMean,
          Mixed{Tensor<float>::full({5}, float(x)), std::nullopt, Tensor<float>::full({}, 3)});
      return double(mean[0]->to_host()[4]) + double(mean[2]->item());
    }
    case Verb::kTensorGather: {
      const auto extent = static_cast<std::int64_t>(replica.replica_id() % 3);
      return folded(replica.all_gather(Tensor<double>::full({extent + 1}, x)));
    }
    case Verb::kMergeTensorBroadcast:
    case Verb::kMergeTensorBatch:
    case Verb::kMergeTensorAxis:
    case Verb::kMergeTensorCustom:
      return merge_tensors(replica, verb, x);
    default:
      return change_variables(replica, verb, x, variables);
  }
}

}  // namespace belfry::testing
