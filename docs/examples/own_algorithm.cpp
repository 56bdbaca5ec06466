// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// An algorithm of one's own for reductions: every device gets all inputs and adds them up itself.
#include <belfry/backend/device.h>
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

// [algorithm]
/// Two steps, whatever the number of devices: good for small tensors.
class GatherAndAdd final : public belfry::CrossDeviceOps {
 public:
  std::string_view name() const override { return "gather and add"; }
  belfry::ReductionOrder order(belfry::ReplicaDevices&) const override {
    return belfry::ReductionOrder::kReplicaOrder;
  }
  void all_reduce(const belfry::TensorReduction& reduction) override {
    for (std::size_t tensor = 0; tensor < reduction.tensors(); ++tensor) {
      const auto parts = reduction.tensor(tensor);
      std::vector<belfry::Kernel> additions;
      meet(parts);  // Inputs may still be in the making.
      for (const auto& part : parts) additions.push_back(gather(*part.stream, parts));
      meet(parts);  // An output may be an input that other devices have to read first.
      for (std::size_t member = 0; member < parts.size(); ++member) {
        belfry::Kernel& addition = additions[member];
        addition.parameters.reduce = reduction.op;
        addition.outputs = {parts[member].output};
        parts[member].stream->launch(std::move(addition));
      }
    }
  }

 private:
  /// Copies all inputs to the device of `stream`, as the inputs of a kernel.
  static belfry::Kernel gather(belfry::Stream& stream,
                               std::span<const belfry::CollectivePart> parts) {
    belfry::Kernel kernel;
    kernel.kind = belfry::KernelKind::kReduceReplicas;
    for (const auto& from : parts) {
      const auto memory = stream.device().allocate(from.input.bytes(), stream);
      kernel.inputs.push_back(belfry::view_of(memory, from.input.dtype));
      stream.copy(kernel.inputs.back(), from.input);
    }
    return kernel;
  }
  /// Later work of every stream waits for the present work of all streams.
  static void meet(std::span<const belfry::CollectivePart> parts) {
    std::vector<std::unique_ptr<belfry::Event>> reached;
    for (const auto& part : parts) {
      reached.push_back(part.stream->device().create_event());
      part.stream->record(*reached.back());
    }
    for (const auto& part : parts) {
      for (const auto& event : reached) part.stream->wait(*event);
    }
  }
};
// [algorithm]

int main() {
  // [use]
  belfry::sim::Backend backend{{.devices = 3, .seed = 7}};
  belfry::MirroredStrategy strategy{backend,
                                    {.cross_device_ops = std::make_shared<GatherAndAdd>()}};
  const auto means = strategy.run([](belfry::ReplicaContext& replica) {
    const auto mine = belfry::Tensor<float>::full({4}, 1.0F + replica.replica_id());
    return replica.all_reduce(belfry::ReduceOp::kMean, mine).to_host();
  });
  std::cout << means[0][0] << ' ' << means[1][1] << ' ' << means[2][3] << '\n';
  // [use]
}
