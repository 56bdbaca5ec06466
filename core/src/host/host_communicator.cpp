// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_communicator.h"

#include "belfry/backend/collective.h"
#include "host/host_device.h"

namespace belfry::host {
namespace {

// All members of a collective fail if the stream of a member has failed.
void spread_failure(std::span<const CollectivePart> parts) {
  HostFailurePtr failure;
  for (const CollectivePart& part : parts) {
    HostStream* const stream = host_stream(part.stream);
    if (failure == nullptr && stream != nullptr) failure = stream->failure();
  }
  if (failure == nullptr) return;
  for (const CollectivePart& part : parts) {
    HostStream* const stream = host_stream(part.stream);
    if (stream != nullptr) stream->join_failure(failure);
  }
}

// Makes the stream of a member fail if bytes of the member's input have no value.
void require_value(const CollectivePart& part) {
  HostStream* const stream = host_stream(part.stream);
  if (stream != nullptr) stream->require_value(part.input);
}

void require_values(std::span<const CollectivePart> parts) {
  for (const CollectivePart& part : parts) require_value(part);
}

void launch_reduction(ReduceOp op, std::span<const CollectivePart> parts) {
  require_values(parts);
  spread_failure(parts);
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  for (const CollectivePart& part : parts) {
    kernel.inputs.push_back(part.input);
    kernel.outputs.push_back(part.output);
  }
  parts.front().stream->launch(std::move(kernel));
}

}  // namespace

void HostCommunicator::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  const auto collectives = collectives_of(parts, size());
  for (const auto& own : collectives) {
    validate({.kind = CollectiveKind::kAllReduce, .parts = own, .op = op}, size());
  }
  for (const auto& own : collectives) launch_reduction(op, own);
}

void HostCommunicator::broadcast(int root, std::span<const CollectivePart> parts) {
  validate({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = root}, size());
  const CollectivePart& from = parts[static_cast<std::size_t>(root)];
  require_value(from);
  spread_failure(parts);
  for (const CollectivePart& part : parts) part.stream->copy(part.output, from.input);
}

void HostCommunicator::all_gather(std::span<const CollectivePart> parts) {
  validate({.kind = CollectiveKind::kAllGather, .parts = parts}, size());
  require_values(parts);
  spread_failure(parts);
  for (const CollectivePart& to : parts) {
    BufferView slot = to.output;
    slot.count = to.input.count;
    for (const CollectivePart& from : parts) {
      to.stream->copy(slot, from.input);
      slot.offset += slot.bytes();
    }
  }
}

}  // namespace belfry::host
