// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A training step with twelve lines that can change, one in each run: another value, operation,
// operand, operator, variable or merge. The comments have the numbers of the changes.
#include "belfry/tensor_ops.h"
#include "plant.h"

namespace belfry::plants {

void step_with_change(Strategy& strategy, int change) {
  const auto is = [change](int number) { return change == number; };
  const auto weight =
      strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.0F); }, {.name = "weight"});
  const auto bias =
      strategy.mirrored_variable(1.0, {.name = "bias", .aggregation = Aggregation::kMean});
  const auto seen = strategy.replica_local_variable(ReduceOp::kSum, 0.0, {.name = "seen"});
  const auto kept = strategy.replica_local_variable(ReduceOp::kSum, 0.0, {.name = "kept"});
  strategy.run([&](ReplicaContext& replica) {
    const auto id = static_cast<float>(replica.replica_id());
    const auto x = Tensor<float>::full({2}, id + (is(1) ? 3.0F : 2.0F));  // change: 1
    auto y = is(2) ? add(x, x) : multiply(x, x);                          // change: 2
    if (!is(3)) y = sqrt(y);                                              // change: 3
    auto z = subtract(y, is(4) ? x : weight.on(replica));                 // change: 4
    if (is(5) && id == 1) z = abs(z);                                     // change: 5
    z = replica.all_reduce(is(6) ? ReduceOp::kMean : ReduceOp::kSum, z);  // change: 6
    replica.assign_add(is(7) ? kept : seen, 1.0);                         // change: 7
    const double loss = 1.0 + static_cast<double>(id);
    replica.all_reduce(ReduceOp::kMean, loss + (is(8) ? 0.5 : 0.0));  // change: 8
    if (!is(9)) replica.assign_add(bias, loss);                       // change: 9
    const auto update = [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
      const auto sum = cross.reduce(is(10) ? ReduceOp::kSum : ReduceOp::kMean, all);  // change: 10
      const auto descend = [&](Tensor<float>& w, const Tensor<float>& gradient) {
        subtract_scaled(w, is(11) ? 0.25F : 0.5F, gradient);  // change: 11
      };
      cross.update(weight, descend, sum);
    };
    replica.merge_call(update, z);
  });
  if (!is(12)) strategy.read(weight).to_host();  // change: 12
}

}  // namespace belfry::plants
