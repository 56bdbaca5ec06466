// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions and variables with a wrong meaning: every schedule has the same value, and the value
// of the mutant depends on the number of replicas.
#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"
#include "bug.h"
#include "device_memory.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace belfry::bugs {
namespace {

// The examples of the replica: each N-th.
Outcome share_of(const ReplicaContext& replica, const Outcome& examples) {
  Outcome own;
  const auto step = static_cast<std::size_t>(replica.num_replicas());
  for (auto i = static_cast<std::size_t>(replica.replica_id()); i < examples.size(); i += step) {
    own.push_back(examples[i]);
  }
  return own;
}

double sum_of(const Outcome& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double mean_of(const Outcome& values) {
  return sum_of(values) / static_cast<double>(values.size());
}

// The result of `body` on replica 0.
template <class Body>
Outcome run_on_all(sim::Backend& backend, const Body& body) {
  MirroredStrategy strategy{backend};
  return {static_cast<double>(strategy.run(body)[0])};
}

// The rank of device 0 in a list of devices in descending order.
Outcome rank_taken_for_device(sim::Backend& backend, bool is_correct) {
  const int count = backend.device_count();
  std::vector<int> devices;
  std::vector<BufferView> views;
  std::vector<CollectivePart> parts;
  for (int device = count - 1; device >= 0; --device) {
    devices.push_back(device);
    Device& at = backend.device(device);
    views.push_back(floats(at, 1, 5.0F + static_cast<float>(device)));
    parts.push_back({views.back(), views.back(), &at.compute_stream()});
  }
  const int root = is_correct ? count - 1 : 0;  // bug 10, access 1
  backend.communicator(devices)->run(
      {.kind = CollectiveKind::kBroadcast, .parts = parts, .root = root});
  return values_of(backend.device(0).compute_stream(), views.back());
}

Outcome reduced_twice(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const double sum = replica.all_reduce(ReduceOp::kSum, sum_of(share_of(replica, {1, 2, 3, 4})));
    if (is_correct) return sum;
    return replica.all_reduce(ReduceOp::kSum, sum);  // bug 32, access 1
  });
}

Outcome sum_of_means(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const double mean = mean_of(share_of(replica, {1, 2, 3, 4}));
    return replica.all_reduce(is_correct ? ReduceOp::kMean : ReduceOp::kSum,
                              mean);  // bug 34, access 1
  });
}

Outcome mean_of_uneven_means(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const Outcome own = share_of(replica, {1, 2, 6});
    if (!is_correct) return replica.all_reduce(ReduceOp::kMean, mean_of(own));  // bug 35, access 1
    const double sum = replica.all_reduce(ReduceOp::kSum, sum_of(own));
    return sum / replica.all_reduce(ReduceOp::kSum, static_cast<double>(own.size()));
  });
}

// A sum beyond the largest 16-bit float, of values whose mean is small.
Outcome overflow_before_division(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const auto own = Tensor<Float16>::full(Shape{1}, Float16(40000));
    if (is_correct) {
      const auto mean = replica.all_reduce(ReduceOp::kMean, own);
      return static_cast<double>(static_cast<float>(mean.item()));
    }
    const auto sum = replica.all_reduce(ReduceOp::kSum, own);  // bug 36, access 1
    return static_cast<double>(static_cast<float>(sum.item())) / replica.num_replicas();
  });
}

Outcome overflow_of_integers(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const auto mean = [&](auto own) {
      const auto sum = replica.all_reduce(ReduceOp::kSum, own);  // bug 37, access 1
      return static_cast<double>(sum) / replica.num_replicas();
    };
    return is_correct ? mean(std::int64_t{1500000000}) : mean(std::int32_t{1500000000});
  });
}

// The mean of 3 and 5, divided before the addition.
Outcome integers_divided_first(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const auto own = static_cast<std::int64_t>(sum_of(share_of(replica, {3, 5})));
    if (is_correct) return replica.all_reduce(ReduceOp::kSum, own) / 2;
    return replica.all_reduce(ReduceOp::kSum, own / 2);  // bug 39, access 1
  });
}

// Each replica adds the values of all replicas, beginning with its own.
Outcome different_bits_on_replicas(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  const std::vector<float> values{1e8F, 1.0F, -1e8F};
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    float sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t first = is_correct ? 0 : static_cast<std::size_t>(replica.replica_id());
      sum += values[(first + i) % values.size()];  // bug 41, access 1
    }
    return sum;
  });
  double difference = 0;
  for (const float sum : sums) difference += static_cast<double>(sum - sums[0]);
  return {difference};
}

// Noise of each example, drawn by the number of the example on its replica.
Outcome same_noise_on_replicas(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const Outcome noise{3, 1, 4, 2};
    const Outcome own = share_of(replica, {0, 1, 2, 3});
    double sum = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto example = static_cast<std::size_t>(own[i]);
      sum += noise[is_correct ? example : i];  // bug 45, access 1
    }
    return replica.all_reduce(ReduceOp::kSum, sum);
  });
}

Outcome total_assigned_to_each(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  const auto count = strategy.replica_local_variable(Aggregation::kSum, [] { return 0.0; });
  if (is_correct) {
    strategy.cross_replica().assign_total(count, 10.0);
  } else {
    strategy.cross_replica().assign_each(count, 10.0);  // bug 48, access 1
  }
  return {strategy.read(count)};
}

// An example for two replicas: the mean of no examples is no number.
Outcome mean_of_empty_batch(sim::Backend& backend, bool is_correct) {
  return run_on_all(backend, [&](ReplicaContext& replica) {
    const Outcome own = share_of(replica, {3});
    if (!is_correct) return replica.all_reduce(ReduceOp::kMean, mean_of(own));  // bug 55, access 1
    const double sum = replica.all_reduce(ReduceOp::kSum, sum_of(own));
    return sum / replica.all_reduce(ReduceOp::kSum, static_cast<double>(own.size()));
  });
}

}  // namespace

std::vector<Bug> value_bugs() {
  using enum Effect;
  return {
      {10, "a rank taken for a device", kValue, rank_taken_for_device},
      {32, "a value reduced twice", kValue, reduced_twice},
      {34, "a sum instead of a mean", kValue, sum_of_means},
      {35, "a mean of the means of uneven batches", kValue, mean_of_uneven_means},
      {36, "an overflow before a division", kValue, overflow_before_division},
      {37, "an overflow of integers", kValue, overflow_of_integers},
      {39, "integers divided before the addition", kValue, integers_divided_first},
      {.number = 41,
       .name = "different bits on replicas",
       .effect = kValue,
       .program = different_bits_on_replicas,
       .devices = 3},
      {45, "the same noise on all replicas", kValue, same_noise_on_replicas},
      {48, "a total assigned to each component", kValue, total_assigned_to_each},
      {55, "a mean of an empty batch", kValue, mean_of_empty_batch},
  };
}

}  // namespace belfry::bugs
