// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Merges and collectives whose parts do not belong together. The comments at the ends of lines mark
// the calls that an error should name.
#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"
#include "bug.h"
#include "device_memory.h"
#include "meet.h"

#include <array>
#include <string>
#include <vector>

namespace belfry::bugs {
namespace {

double sum_of(CrossReplicaContext&, const PerReplica<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double largest_of(CrossReplicaContext&, const PerReplica<double>& values) {
  double largest = values[0];
  for (const double value : values) largest = value > largest ? value : largest;
  return largest;
}

// The results of `body` on both replicas.
template <class Body>
Outcome run_on_both(sim::Backend& backend, const Body& body) {
  MirroredStrategy strategy{backend};
  const auto results = strategy.run(body);
  return {results[0], results[1]};
}

// A collective in a branch of replica 0.
Outcome collective_in_a_branch(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    const double own = 2.0 + replica.replica_id();
    if (!is_correct && replica.replica_id() != 0) return own;
    return replica.all_reduce(ReduceOp::kSum, own);  // bug 1, access 1
  });
}

// Replica 0 makes two merges, replica 1 one.
Outcome different_numbers_of_merges(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    double value = 1;
    const int merges = is_correct ? 2 : 2 - replica.replica_id();
    for (int i = 0; i < merges; ++i) {
      value = replica.merge_call(sum_of, value);  // bug 2, access 1
    }
    return value;
  });
}

// Two functions for a merge.
Outcome different_merge_functions(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    const double own = 2.0 + replica.replica_id();
    if (is_correct || replica.replica_id() == 0) {
      return replica.merge_call(sum_of, own);  // bug 3, access 1
    }
    return replica.merge_call(largest_of, own);  // bug 3, access 2
  });
}

// A replica's verb inside a merge.
Outcome merge_in_a_merge(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    if (is_correct) return replica.all_reduce(ReduceOp::kSum, 2.0);
    return replica.merge_call([&](CrossReplicaContext&) {
      return replica.all_reduce(ReduceOp::kSum, 2.0);  // bug 4, access 1
    });
  });
}

// Two reductions in opposite orders.
Outcome opposite_orders(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    const bool bias_first = !is_correct && replica.replica_id() == 1;
    double bias = 1;
    if (bias_first) bias = replica.all_reduce(ReduceOp::kSum, bias);  // bug 5, access 2
    const double weight = replica.all_reduce(ReduceOp::kSum, 2.0);    // bug 5, access 1
    if (!bias_first) bias = replica.all_reduce(ReduceOp::kSum, bias);
    return 10 * weight + bias;
  });
}

// A reduction meets a gathering.
Outcome different_kinds(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    const double own = 2.0 + replica.replica_id();
    if (!is_correct && replica.replica_id() == 1) {
      const auto tensor = Tensor<float>::full(Shape{1}, 1);
      return static_cast<double>(replica.all_gather(tensor).count());  // bug 7, access 2
    }
    return replica.all_reduce(ReduceOp::kSum, own);  // bug 7, access 1
  });
}

// Tensors of two lengths in a reduction.
Outcome different_shapes(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    const int length = is_correct ? 2 : 2 + replica.replica_id();
    const auto tensor = Tensor<float>::full(Shape{length}, 1);
    const auto sum = replica.all_reduce(ReduceOp::kSum, tensor);  // bug 8, accesses 1 and 2
    return static_cast<double>(sum.to_host()[0]);
  });
}

// Two operators in a reduction.
Outcome different_operators(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    const bool mean = !is_correct && replica.replica_id() == 1;
    const ReduceOp op = mean ? ReduceOp::kMean : ReduceOp::kSum;
    return replica.all_reduce(op, 2.0);  // bug 9, accesses 1 and 2
  });
}

// The end of a recycled buffer that nothing has written.
Outcome unwritten_end_of_buffer(sim::Backend& backend, bool is_correct) {
  Device& device = backend.device(0);
  Stream& stream = device.compute_stream();
  const BufferView buffer = view_of(device.allocate(16, stream), DType::kFloat32);
  const std::array<float, 4> batch{1, 2, 3, 4};
  stream.write(part_of(buffer, 0, is_correct ? 4 : 3), batch.data());  // bug 26, access 1
  std::array<float, 4> values{};
  stream.read(values.data(), buffer);  // bug 26, access 2
  return Outcome(values.begin(), values.end());
}

// An output of a gathering that overlaps the input.
Outcome overlapping_output(sim::Backend& backend, bool is_correct) {
  const std::array<int, 2> devices{0, 1};
  const auto communicator = backend.communicator(devices);
  std::vector<BufferView> outputs;
  std::vector<CollectivePart> parts;
  for (const int device : devices) {
    Device& at = backend.device(device);
    const float value = 1.0F + static_cast<float>(device);
    outputs.push_back(floats(at, 4, value));
    const BufferView input = is_correct ? floats(at, 2, value) : part_of(outputs.back(), 1, 2);
    parts.push_back({input, outputs.back(), &at.compute_stream()});
  }
  communicator->run({.kind = CollectiveKind::kAllGather, .parts = parts});  // bug 27, access 1
  return values_of(backend.device(0).compute_stream(), outputs[0]);
}

// Replicas assign different values to a mirrored variable without an aggregation.
Outcome assignment_without_aggregation(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  const Aggregation by = is_correct ? Aggregation::kMean : Aggregation::kNone;
  const auto weight = strategy.mirrored_variable([] { return 1.0; }, {.aggregation = by});
  strategy.run([&](ReplicaContext& replica) {
    replica.assign(weight, 2.0 + replica.replica_id());  // bug 47, access 1
  });
  return {strategy.read(weight)};
}

// Replica 0 has two batches, replica 1 one.
Outcome uneven_batches(sim::Backend& backend, bool is_correct) {
  return run_on_both(backend, [&](ReplicaContext& replica) {
    std::vector<double> batches{1, 2};
    if (replica.replica_id() == 1) batches.pop_back();
    double total = 0;
    for (const double batch : batches) {
      total += is_correct ? batch : replica.all_reduce(ReduceOp::kSum, batch);  // bug 54, access 1
    }
    return is_correct ? replica.all_reduce(ReduceOp::kSum, total) : total;
  });
}

}  // namespace

std::vector<Bug> matching_bugs() {
  using enum Effect;
  const std::array<std::string, 2> host{"H0", "H0"};
  return {
      {1, "a collective in a branch of some replicas", kError, collective_in_a_branch},
      {2, "different numbers of merges", kError, different_numbers_of_merges},
      {3, "different functions in a merge", kError, different_merge_functions},
      {4, "a merge in a merge", kError, merge_in_a_merge, host},
      {5, "collectives in opposite orders", kError, opposite_orders},
      {7, "different kinds of collectives", kError, different_kinds},
      {8, "different shapes in a collective", kError, different_shapes},
      {9, "different operators in a collective", kError, different_operators},
      {26, "an end of a buffer without contents", kError, unwritten_end_of_buffer, host},
      {27, "an output over a part of the input", kError, overlapping_output, host},
      {47,
       "an assignment without an aggregation",
       kError,
       assignment_without_aggregation,
       {"R0", "R0"}},
      {54, "different numbers of batches", kError, uneven_batches},
  };
}

}  // namespace belfry::bugs
