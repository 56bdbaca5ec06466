// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Streams without an event between two accesses. The comments at the ends of lines mark the two
// accesses.
#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"
#include "bug.h"
#include "device_memory.h"
#include "meet.h"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace belfry::bugs {
namespace {

constexpr std::array<int, 2> kBoth{0, 1};

// The parts of a collective in the communication streams of devices 0 and 1.
std::vector<CollectivePart> parts_of(sim::Backend& backend, const std::vector<Tensor<float>>& from,
                                     const std::vector<Tensor<float>>& to) {
  std::vector<CollectivePart> parts;
  for (const int device : kBoth) {
    const auto i = static_cast<std::size_t>(device);
    parts.push_back(
        {from[i].any().view(), to[i].any().view(), &backend.device(device).communication_stream()});
  }
  return parts;
}

// A finished tensor on each of devices 0 and 1.
std::vector<Tensor<float>> finished(sim::Backend& backend, float value) {
  std::vector<Tensor<float>> tensors;
  for (const int device : kBoth) {
    tensors.push_back(Tensor<float>::full(Shape{2}, value, Placement{&backend, device}));
    backend.device(device).compute_stream().synchronize();
  }
  return tensors;
}

// A reduction that does not wait for the kernels of the gradients.
Outcome reduction_before_gradient(sim::Backend& backend, bool is_correct) {
  std::vector<Tensor<float>> gradients = finished(backend, 1);
  const std::vector<Tensor<float>> sums = finished(backend, 0);
  const auto communicator = backend.communicator(kBoth);
  for (Tensor<float>& gradient : gradients) {
    scale(gradient, 10);  // bug 21, access 1
  }
  for (const int device : kBoth) {
    Device& at = backend.device(device);
    if (is_correct) order(at.compute_stream(), at.communication_stream());
  }
  const std::vector<CollectivePart> parts = parts_of(backend, gradients, sums);
  communicator->run({.kind = CollectiveKind::kAllReduce, .parts = parts});  // bug 21, access 2
  return values_of(backend.device(0).communication_stream(), sums[0].any().view());
}

// A read of a sum that does not wait for the reduction.
Outcome sum_before_reduction(sim::Backend& backend, bool is_correct) {
  const std::vector<Tensor<float>> gradients = finished(backend, 1);
  const std::vector<Tensor<float>> sums = finished(backend, 0);
  const auto communicator = backend.communicator(kBoth);
  const std::vector<CollectivePart> parts = parts_of(backend, gradients, sums);
  communicator->run({.kind = CollectiveKind::kAllReduce, .parts = parts});  // bug 22, access 1
  Device& first = backend.device(0);
  if (is_correct) order(first.communication_stream(), first.compute_stream());
  const std::vector<float> sum = sums[0].to_host();  // bug 22, access 2
  return Outcome(sum.begin(), sum.end());
}

// The broadcast of a token as a barrier for a table that the root wrote in its compute stream.
Outcome broadcast_as_barrier(sim::Backend& backend, bool is_correct) {
  std::vector<Tensor<float>> tables = finished(backend, 1);
  const std::vector<Tensor<float>> tokens = finished(backend, 0);
  const auto communicator = backend.communicator(kBoth);
  Device& root = backend.device(0);
  Device& second = backend.device(1);
  scale(tables[0], 10);  // bug 18, access 1
  if (is_correct) order(root.compute_stream(), root.communication_stream());
  communicator->run(
      {.kind = CollectiveKind::kBroadcast, .parts = parts_of(backend, tokens, tokens), .root = 0});
  order(second.communication_stream(), second.compute_stream());
  second.compute_stream().copy(tables[1].any().view(), tables[0].any().view());  // bug 18, access 2
  return values_of(second.compute_stream(), tables[1].any().view());
}

// An event that is recorded before the work that the event stands for.
Outcome event_before_work(sim::Backend& backend, bool is_correct) {
  std::vector<Tensor<float>> tensors = finished(backend, 1);
  Device& device = backend.device(0);
  const auto second = device.create_stream();
  const auto event = device.create_event();
  const BufferView copy = floats(device, 2, 0);
  if (!is_correct) device.compute_stream().record(*event);
  scale(tensors[0], 10);  // bug 23, access 1
  if (is_correct) device.compute_stream().record(*event);
  second->wait(*event);
  second->copy(copy, tensors[0].any().view());  // bug 23, access 2
  return values_of(*second, copy);
}

// Work of a new stream, as if the compute stream had an order with all streams.
Outcome order_of_default_stream(sim::Backend& backend, bool is_correct) {
  std::vector<Tensor<float>> tensors = finished(backend, 1);
  Device& device = backend.device(0);
  const auto second = device.create_stream();
  const BufferView copy = floats(device, 2, 0);
  scale(tensors[0], 10);  // bug 29, access 1
  if (is_correct) order(device.compute_stream(), *second);
  second->copy(copy, tensors[0].any().view());  // bug 29, access 2
  return values_of(*second, copy);
}

// Three streams write a chunk each, and the reader waits for two.
Outcome forgotten_stream(sim::Backend& backend, bool is_correct) {
  Device& device = backend.device(0);
  const BufferView whole = floats(device, 3, 1);
  const BufferView copy = floats(device, 3, 0);
  Stream& reader = device.compute_stream();
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    streams.push_back(device.create_stream());
    const float value = 5.0F + static_cast<float>(chunk);
    streams[chunk]->write(part_of(whole, chunk, 1), &value);  // bug 31, access 1
    if (is_correct || chunk < 2) order(*streams[chunk], reader);
  }
  reader.copy(copy, whole);  // bug 31, access 2
  return values_of(reader, copy);
}

// Two replicas submit work to a common stream.
Outcome order_of_submissions(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  Device& device = backend.device(0);
  const auto common = device.create_stream();
  const BufferView memory = floats(device, 1, 0);
  strategy.run([&](ReplicaContext& replica) {
    const float value = 1.0F + static_cast<float>(replica.replica_id());
    if (is_correct && replica.replica_id() == 1) meet(replica);
    common->write(memory, &value);  // bug 14, accesses 1 and 2
    if (is_correct && replica.replica_id() == 0) meet(replica);
  });
  return values_of(*common, memory);
}

// Replica 1 asks whether its work is done, and goes on as the answer says.
Outcome answer_of_a_question(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  const auto steps = strategy.run([&](ReplicaContext& replica) {
    const Tensor<float> x = multiply(Tensor<float>::full(Shape{2}, 2), 3);
    const Completion completion(backend, {replica.replica_id()});
    double waits = 1;
    if (!is_correct && replica.replica_id() == 1) {
      waits = completion.done() ? 0 : 1;  // bug 30, accesses 1 and 2
    }
    completion.wait();
    return waits;
  });
  return {steps[0], steps[1]};
}

}  // namespace

std::vector<Bug> stream_bugs() {
  using enum Effect;
  const std::array<std::string, 2> host{"H0", "H0"};
  return {
      {14, "work in the order of replicas' calls", kDiverges, order_of_submissions},
      {18, "a broadcast as a barrier", kDiverges, broadcast_as_barrier, host},
      {21, "a reduction before the gradient", kDiverges, reduction_before_gradient, host},
      {22, "a result before the reduction", kDiverges, sum_before_reduction, host},
      {23, "an event recorded too early", kDiverges, event_before_work, host},
      {29, "the order of a default stream", kDiverges, order_of_default_stream, host},
      {30, "the answer of a question", kDiverges, answer_of_a_question, {"R1", "R1"}},
      {31, "a stream without a wait", kDiverges, forgotten_stream, host},
  };
}

}  // namespace belfry::bugs
