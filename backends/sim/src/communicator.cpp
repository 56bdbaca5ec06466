// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include "belfry/backend/device.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "buffer.h"
#include "kernel_work.h"
#include "stream.h"

#include <cstring>
#include <numeric>
#include <string>
#include <utility>

namespace belfry::sim {

SimCommunicator::SimCommunicator(std::vector<int> devices, std::shared_ptr<engine::Engine> engine)
    : devices_(std::move(devices)), ranks_(devices_.size()), engine_(std::move(engine)) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

void SimCommunicator::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  enqueue_reduction({.kind = CollectiveKind::kAllReduce, .parts = parts, .op = op});
}

void SimCommunicator::reduce(ReduceOp op, int root, std::span<const CollectivePart> parts) {
  enqueue_reduction({.kind = CollectiveKind::kReduce, .parts = parts, .root = root, .op = op});
}

void SimCommunicator::broadcast(int root, std::span<const CollectivePart> parts) {
  engine::Command command =
      begin({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = root});
  command.copies = true;
  command.run = [](const engine::Command& own) {
    const engine::Access& input = own.reads[0];
    for (const engine::Access& output : own.writes) {
      std::memmove(address_of(output), address_of(input), bytes_of(input));
    }
  };
  enqueue(parts, std::move(command));
}

void SimCommunicator::all_gather(std::span<const CollectivePart> parts) {
  engine::Command command = begin({.kind = CollectiveKind::kAllGather, .parts = parts});
  command.run = [](const engine::Command& own) {
    for (const engine::Access& output : own.writes) {
      std::byte* slot = address_of(output);
      for (const engine::Access& input : own.reads) {
        std::memmove(slot, address_of(input), bytes_of(input));  // In place, if alone.
        slot += bytes_of(input);
      }
    }
  };
  enqueue(parts, std::move(command));
}

engine::Command SimCommunicator::begin(const Collective& collective) const {
  validate(collective, size());
  engine::Command command;
  command.name = to_string(collective.kind);
  for (int rank = 0; rank < size(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const CollectivePart& part = collective.parts[place];
    const int device = stream_of(*part.stream, *engine_).device().index();
    if (device != devices_[place]) {
      throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                                 std::string(command.name) + ": rank " + std::to_string(rank) +
                                     " is device " + std::to_string(devices_[place]) +
                                     ", its stream is of device " + std::to_string(device));
    }
    if (collective.reads_input_of(rank)) {
      command.reads.push_back(access_of(part.input, *engine_, command.name));
    }
    if (collective.writes_output_of(rank)) {
      command.writes.push_back(access_of(part.output, *engine_, command.name));
    }
  }
  return command;
}

void SimCommunicator::enqueue_reduction(const Collective& collective) {
  engine::Command command = begin(collective);
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = collective.op;
  for (int rank = 0; rank < size(); ++rank) {
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(rank)];
    kernel.inputs.push_back(part.input);
    if (collective.writes_output_of(rank)) kernel.outputs.push_back(part.output);
  }
  command.run = [work = KernelWork(kernel)](const engine::Command& own) mutable {
    run_on_host(work.at(own));
  };
  enqueue(collective.parts, std::move(command));
}

void SimCommunicator::enqueue(std::span<const CollectivePart> parts, engine::Command command) {
  std::vector<engine::CommandQueue*> queues;
  queues.reserve(parts.size());
  for (const CollectivePart& part : parts) {
    queues.push_back(&stream_of(*part.stream, *engine_).queue());
  }
  engine_->enqueue_together(queues, std::move(command));
}

}  // namespace belfry::sim
