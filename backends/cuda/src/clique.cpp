// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique.h"

#include "belfry/error.h"
#include "ownership.h"

#include <cstddef>
#include <numeric>
#include <string>

namespace belfry::cuda {

Clique::Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices)
    : shared_(std::move(shared)), devices_(std::move(devices)), ranks_(devices_.size()) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

void Clique::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  for (const auto& own : collectives_of(parts, size())) {
    require({.kind = CollectiveKind::kAllReduce, .parts = own, .op = op});
  }
  do_all_reduce(op, parts);
}

void Clique::broadcast(int root, std::span<const CollectivePart> parts) {
  require({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = root});
  do_broadcast(root, parts);
}

void Clique::all_gather(std::span<const CollectivePart> parts) {
  require({.kind = CollectiveKind::kAllGather, .parts = parts});
  do_all_gather(parts);
}

void Clique::check_health() {
  for (Device* device : devices_) device->check_health();
}

Stream& Clique::stream(const CollectivePart& part) const { return own(*shared_, *part.stream); }

void* Clique::address(const BufferView& view) const { return address_of(*shared_, view); }

std::vector<BufferPtr> Clique::buffers_of(std::span<const CollectivePart> parts) {
  std::vector<BufferPtr> buffers;
  for (const CollectivePart& part : parts) {
    if (part.input.buffer != nullptr) buffers.push_back(part.input.buffer);
    if (part.output.buffer != nullptr) buffers.push_back(part.output.buffer);
  }
  return buffers;
}

void Clique::require(const Collective& collective) const {
  validate(collective, size());
  for (int rank = 0; rank < size(); ++rank) {
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(rank)];
    if (&own(*shared_, *part.stream).state() != &device(rank).state()) {
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "the stream of rank " + std::to_string(rank) + " is not of the device of that rank");
    }
    const auto require_here = [&](const BufferView& view) {
      if (own(*shared_, view).state().gpu() == device(rank).gpu()) return;
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "a buffer of rank " + std::to_string(rank) + " is not on the device of that rank");
    };
    if (collective.reads_input_of(rank)) require_here(part.input);
    require_here(part.output);
  }
}

}  // namespace belfry::cuda
