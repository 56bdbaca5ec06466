// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include "belfry/backend/device.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "buffer.h"
#include "kernel_work.h"
#include "stream.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

namespace belfry::sim {
namespace {

void require_alike(const BufferView& view, std::size_t count, DType dtype, std::size_t rank,
                   const char* name) {
  if (view.count == count && view.dtype == dtype) return;
  throw StructureMismatchError(ErrorCode::kStructure,
                               std::string(name) + ": rank " + std::to_string(rank) + " has " +
                                   std::to_string(view.count) + " elements of " +
                                   to_string(view.dtype) + " where " + std::to_string(count) +
                                   " of " + to_string(dtype) + " are expected");
}

bool overlap(const engine::Access& a, const engine::Access& b) {
  return a.allocation == b.allocation && a.range.begin < b.range.end && b.range.begin < a.range.end;
}

bool same(const engine::Access& a, const engine::Access& b) {
  return a.allocation == b.allocation && a.range == b.range;
}

[[noreturn]] void throw_overlap(const char* name) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             std::string(name) + ": the memory of two parts overlaps",
                             "in place means that input and output are the very same view");
}

void require_disjoint(std::vector<engine::Access> outputs, const char* name) {
  std::ranges::sort(outputs, {}, [](const engine::Access& access) {
    return std::pair(access.allocation->resource(), access.range.begin);
  });
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (overlap(outputs[i - 1], outputs[i])) throw_overlap(name);
  }
}

}  // namespace

SimCommunicator::SimCommunicator(std::vector<int> devices, std::shared_ptr<engine::Engine> engine)
    : devices_(std::move(devices)), ranks_(devices_.size()), engine_(std::move(engine)) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

void SimCommunicator::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  require_parts(parts, "all_reduce");
  std::vector<BufferView> outputs;
  outputs.reserve(parts.size());
  for (const CollectivePart& part : parts) outputs.push_back(part.output);
  enqueue_reduction(op, parts, std::move(outputs), 0, "all_reduce");
}

void SimCommunicator::reduce(ReduceOp op, int root, std::span<const CollectivePart> parts) {
  require_parts(parts, "reduce");
  require_root(root);
  const auto to = static_cast<std::size_t>(root);
  enqueue_reduction(op, parts, {parts[to].output}, to, "reduce");
}

void SimCommunicator::broadcast(int root, std::span<const CollectivePart> parts) {
  require_parts(parts, "broadcast");
  require_root(root);
  const auto from = static_cast<std::size_t>(root);
  const BufferView& source = parts[from].input;
  engine::Command command;
  command.name = "broadcast";
  command.reads.push_back(access_of(source, *engine_, "broadcast"));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    require_alike(parts[rank].output, source.count, source.dtype, rank, "broadcast");
    command.writes.push_back(access_of(parts[rank].output, *engine_, "broadcast"));
    const bool in_place = rank == from && same(command.reads[0], command.writes[rank]);
    if (!in_place && overlap(command.reads[0], command.writes[rank])) throw_overlap("broadcast");
  }
  require_disjoint(command.writes, "broadcast");
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
  require_parts(parts, "all_gather");
  const BufferView& first = parts[0].input;
  engine::Command command;
  command.name = "all_gather";
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    require_alike(parts[rank].input, first.count, first.dtype, rank, "all_gather");
    require_alike(parts[rank].output, first.count * parts.size(), first.dtype, rank, "all_gather");
    command.reads.push_back(access_of(parts[rank].input, *engine_, "all_gather"));
    command.writes.push_back(access_of(parts[rank].output, *engine_, "all_gather"));
  }
  // Outputs and inputs together must be disjoint.
  std::vector<engine::Access> all = command.writes;
  all.insert(all.end(), command.reads.begin(), command.reads.end());
  require_disjoint(std::move(all), "all_gather");
  command.run = [](const engine::Command& own) {
    for (const engine::Access& output : own.writes) {
      std::byte* slot = address_of(output);
      for (const engine::Access& input : own.reads) {
        std::memcpy(slot, address_of(input), bytes_of(input));
        slot += bytes_of(input);
      }
    }
  };
  enqueue(parts, std::move(command));
}

void SimCommunicator::require_parts(std::span<const CollectivePart> parts, const char* name) const {
  if (parts.size() != devices_.size()) {
    throw StructureMismatchError(ErrorCode::kStructure,
                                 std::string(name) + ": " + std::to_string(parts.size()) +
                                     " parts for " + std::to_string(devices_.size()) + " members");
  }
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].stream == nullptr) {
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          std::string(name) + ": rank " + std::to_string(rank) + " has no stream");
    }
    const int device = stream_of(*parts[rank].stream, *engine_).device().index();
    if (device != devices_[rank]) {
      throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                                 std::string(name) + ": rank " + std::to_string(rank) +
                                     " is device " + std::to_string(devices_[rank]) +
                                     ", its stream is of device " + std::to_string(device));
    }
  }
}

void SimCommunicator::require_root(int root) const {
  if (root >= 0 && root < size()) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      "root " + std::to_string(root) + " of " + std::to_string(size()) + " ranks",
      "a root is a position in the communicator, not a device");
}

void SimCommunicator::enqueue_reduction(ReduceOp op, std::span<const CollectivePart> parts,
                                        std::vector<BufferView> outputs, std::size_t first_rank,
                                        const char* name) {
  const BufferView& first = parts[0].input;
  engine::Command command;
  command.name = name;
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  kernel.outputs = std::move(outputs);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    require_alike(parts[rank].input, first.count, first.dtype, rank, name);
    command.reads.push_back(access_of(parts[rank].input, *engine_, name));
    kernel.inputs.push_back(parts[rank].input);
  }
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
    require_alike(kernel.outputs[i], first.count, first.dtype, first_rank + i, name);
    command.writes.push_back(access_of(kernel.outputs[i], *engine_, name));
  }
  validate(kernel);
  command.run = [work = KernelWork(kernel)](const engine::Command& own) mutable {
    run_on_host(work.at(own));
  };
  enqueue(parts, std::move(command));
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
