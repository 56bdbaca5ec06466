// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "local_clique.h"

#include "check.h"
#include "current_gpu.h"
#include "kernel_launch.h"

#include <cstddef>

namespace belfry::cuda {

LocalClique::LocalClique(const std::shared_ptr<SharedState>& shared, std::vector<Device*> devices)
    : Clique(shared, std::move(devices)), done_(shared) {
  for (int rank = 0; rank < size(); ++rank) ready_.push_back(std::make_unique<Event>(shared));
}

void LocalClique::do_all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  std::vector<KernelOperand> outputs;
  for (const CollectivePart& part : parts) outputs.push_back(operand(part.output));
  reduce_to(op, 0, parts, std::move(outputs));
}

void LocalClique::do_reduce(ReduceOp op, int root, std::span<const CollectivePart> parts) {
  reduce_to(op, root, parts, {operand(parts[static_cast<std::size_t>(root)].output)});
}

void LocalClique::do_broadcast(int root, std::span<const CollectivePart> parts) {
  begin(root, parts);
  const CollectivePart& source = parts[static_cast<std::size_t>(root)];
  for (const CollectivePart& part : parts) copy(part.output, source.input, 0, stream(source));
  end(root, parts);
}

void LocalClique::do_all_gather(std::span<const CollectivePart> parts) {
  begin(0, parts);
  for (const CollectivePart& to : parts) {
    std::size_t element = 0;
    for (const CollectivePart& from : parts) {
      copy(to.output, from.input, element, stream(parts[0]));
      element += from.input.count;
    }
  }
  end(0, parts);
}

void LocalClique::reduce_to(ReduceOp op, int leader, std::span<const CollectivePart> parts,
                            std::vector<KernelOperand> outputs) {
  KernelCall call;
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.reduce = op;
  call.parameters.order = ReductionOrder::kReplicaOrder;
  for (const CollectivePart& part : parts) call.inputs.push_back(operand(part.input));
  call.outputs = std::move(outputs);
  begin(leader, parts);
  {
    const CurrentGpu current(device(leader).gpu());
    launch(call, stream(parts[static_cast<std::size_t>(leader)]).get());
  }
  Counters::add(shared().counters.kernel_launches);
  end(leader, parts);
}

// The leader's stream continues after what every member's stream has been given so far.
void LocalClique::begin(int leader, std::span<const CollectivePart> parts) {
  Stream& leading = stream(parts[static_cast<std::size_t>(leader)]);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].stream == &leading) continue;
    parts[rank].stream->record(*ready_[rank]);
    leading.wait(*ready_[rank]);
  }
}

// Every member's stream continues after the collective: its output is written and its input read.
void LocalClique::end(int leader, std::span<const CollectivePart> parts) {
  Stream& leading = stream(parts[static_cast<std::size_t>(leader)]);
  if (parts.size() > 1) leading.record(done_);
  for (const CollectivePart& part : parts) {
    if (part.stream != &leading) part.stream->wait(done_);
  }
  hold(leading, parts);
  Counters::add(shared().counters.local_collectives);
}

void LocalClique::copy(const BufferView& to, const BufferView& from, std::size_t to_element,
                       Stream& stream) {
  void* destination = static_cast<std::byte*>(address(to)) + to_element * size_of(to.dtype);
  const void* source = address(from);
  if (from.bytes() == 0 || destination == source) return;
  const CurrentGpu current(stream.state().gpu());
  BELFRY_CUDA_TRY(
      cudaMemcpyAsync(destination, source, from.bytes(), cudaMemcpyDeviceToDevice, stream.get()));
  Counters::add(shared().counters.copies);
}

KernelOperand LocalClique::operand(const BufferView& view) const {
  return {address(view), view.count, view.dtype};
}

}  // namespace belfry::cuda
