// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Memory that two streams, two replicas or the host use again too soon. The comments at the ends of
// lines mark the two accesses.
#include "belfry/belfry.h"
#include "belfry/tensor_ops.h"
#include "bug.h"
#include "device_memory.h"
#include "meet.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace belfry::bugs {
namespace {

// The host reuses memory that a kernel may not have read yet.
Outcome host_memory_in_flight(sim::Backend& backend, bool is_correct) {
  std::vector<float> staging{1, 2};
  const Placement place{&backend, 0};
  const auto input = Tensor<float>::over(Shape{2}, std::span(staging), place);
  const Tensor<float> product = multiply(input, 10);  // bug 24, access 1
  if (is_correct) backend.device(0).compute_stream().synchronize();
  staging[0] = 7;  // bug 24, access 2
  const std::vector<float> values = product.to_host();
  return Outcome(values.begin(), values.end());
}

// Two buffers in turn for three steps: step 2 fills the buffer that step 0 may still send.
Outcome buffer_filled_too_soon(sim::Backend& backend, bool is_correct) {
  Device& device = backend.device(0);
  Stream& compute = device.compute_stream();
  Stream& sending = device.communication_stream();
  const std::array<BufferView, 2> buffers{floats(device, 1, 0), floats(device, 1, 0)};
  const BufferView sent = floats(device, 3, 0);
  for (std::size_t step = 0; step < 3; ++step) {
    const BufferView& buffer = buffers[step % 2];
    const float value = 1.0F + static_cast<float>(step);
    if (is_correct) order(sending, compute);
    compute.write(buffer, &value);  // bug 25, access 1
    order(compute, sending);
    sending.copy(part_of(sent, step, 1), buffer);  // bug 25, access 2
  }
  return values_of(sending, sent);
}

// Two views of a buffer with a common element; the views of the twin have none.
Outcome overlapping_views(sim::Backend& backend, bool is_correct) {
  Device& device = backend.device(0);
  const auto second = device.create_stream();
  const BufferView buffer = floats(device, 6, 1);
  const BufferView copy = floats(device, 2, 0);
  const std::array<float, 4> values{5, 6, 7, 8};
  device.compute_stream().write(part_of(buffer, 0, 4), values.data());  // bug 28, access 1
  second->copy(copy, part_of(buffer, is_correct ? 4 : 3, 2));           // bug 28, access 2
  return values_of(*second, copy);
}

// Two replicas change a tensor by a common handle.
Outcome weights_of_two_writers(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  Tensor<float> weights = Tensor<float>::full(Shape{1}, 1, strategy.placement(0));
  const Tensor<float> step = Tensor<float>::full(Shape{1}, 1, strategy.placement(0));
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) {
      scale(weights, 3);  // bug 52, access 1
    }
    if (is_correct) meet(replica);
    if (replica.replica_id() == 1) {
      add_to(weights, step);  // bug 52, access 2
    }
  });
  return {static_cast<double>(weights.item())};
}

}  // namespace

std::vector<Bug> memory_bugs() {
  using enum Effect;
  const std::array<std::string, 2> host{"H0", "H0"};
  return {
      {24, "memory of the host reused in flight", kDiverges, host_memory_in_flight, host},
      {25, "a double buffer filled too soon", kDiverges, buffer_filled_too_soon, host},
      {28, "views with a common element", kDiverges, overlapping_views, host},
      {52, "weights with two writers", kDiverges, weights_of_two_writers},
  };
}

}  // namespace belfry::bugs
