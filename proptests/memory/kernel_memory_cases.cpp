// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Training steps with kernels of users and with tensors over memory of the program.
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "memory/memory_case.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

namespace belfry::testing {
namespace {

using Numbers = Tensor<float>;

// z = x, by way of scratch memory.
struct Forward {
  bool check(const Shape& z, const Shape& x) const { return z == x; }
  void on_host(std::span<float> z, std::span<std::byte> memory, std::span<const float> x) const {
    std::memcpy(memory.data(), x.data(), x.size_bytes());
    std::memcpy(z.data(), memory.data(), z.size_bytes());
  }
};

// y += x.
struct Add {
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
  }
};

Numbers forward(const Numbers& x) {
  auto z = Numbers::uninitialised(x.shape());
  launch(Forward(), writes(z), scratch(x.any().bytes()), reads(x));
  return z;
}

// The memories have ones: the mean gradient is 1.
void train_with_kernels(MemoryFixture& fixture) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    auto x = fixture.memories[static_cast<std::size_t>(replica.replica_id())].over();
    const auto gradient = forward(x);
    launch(Add(), updates(x), reads(Numbers::zeros(x.shape())));
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Numbers>& gradients) {
          const auto mean = cross.reduce(ReduceOp::kMean, gradients);
          cross.update_non_slot(cross.devices(), forward, mean);
          cross.update(fixture.history, [](std::vector<double>& history) { history.push_back(4); });
          cross.update(
              fixture.weights,
              [](Numbers& weights, const Numbers& g) { launch(Add(), updates(weights), reads(g)); },
              mean);
        },
        gradient);
    static_cast<void>(x.to_host());
  });
}

// The first replica fails, or ends the run by a cancellation of its own, while kernels of all
// replicas are in flight.
template <class E>
void end_with_kernels_in_flight(MemoryFixture& fixture, const E& error) {
  fixture.strategy->run([&](ReplicaContext& replica) {
    auto x = fixture.memories[static_cast<std::size_t>(replica.replica_id())].over();
    const auto gradient = forward(x);
    launch(Add(), updates(x), reads(Numbers::zeros(x.shape())));
    if (replica.replica_id() == 0) throw error;
    replica.all_reduce(ReduceOp::kSum, gradient);
  });
}

}  // namespace

std::vector<MemoryCase> kernel_memory_cases() {
  return {
      {"a training step of kernels", Changes::kEach, train_with_kernels},
      {"a failure with kernels in flight", Changes::kNothing,
       [](MemoryFixture& fixture) {
         end_with_kernels_in_flight(fixture, std::runtime_error("a replica's own, of some length"));
       }},
      {"a cancellation with kernels in flight", Changes::kNothing,
       [](MemoryFixture& fixture) { end_with_kernels_in_flight(fixture, ReplicaCancelled{}); }},
  };
}

}  // namespace belfry::testing
