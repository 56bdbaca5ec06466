// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_communicator.h"

#include "belfry/error.h"

#include <string>

namespace belfry::host {
namespace {

void launch_reduction(ReduceOp op, std::span<const CollectivePart> parts, int first, int last,
                      Stream& stream) {
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  for (const CollectivePart& part : parts) kernel.inputs.push_back(part.input);
  for (int rank = first; rank < last; ++rank) {
    kernel.outputs.push_back(parts[static_cast<std::size_t>(rank)].output);
  }
  stream.launch(std::move(kernel));
}

}  // namespace

void HostCommunicator::require(std::span<const CollectivePart> parts, int root) const {
  if (static_cast<int>(parts.size()) != size()) {
    throw StructureMismatchError(ErrorCode::kStructure,
                                 "a collective of " + std::to_string(size()) + " ranks got " +
                                     std::to_string(parts.size()) + " parts");
  }
  if (root < 0 || root >= size()) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "a collective of " + std::to_string(size()) + " ranks has no root " + std::to_string(root));
  }
  for (const CollectivePart& part : parts) {
    if (part.stream == nullptr) {
      throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                                 "a part of a collective has no stream");
    }
    if (part.input.count != parts[0].input.count || part.input.dtype != parts[0].input.dtype) {
      throw StructureMismatchError(ErrorCode::kStructure,
                                   "the parts of a collective differ in count or element type");
    }
  }
}

void HostCommunicator::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  require(parts, 0);
  launch_reduction(op, parts, 0, size(), *parts[0].stream);
}

void HostCommunicator::reduce(ReduceOp op, int root, std::span<const CollectivePart> parts) {
  require(parts, root);
  launch_reduction(op, parts, root, root + 1, *parts[0].stream);
}

void HostCommunicator::broadcast(int root, std::span<const CollectivePart> parts) {
  require(parts, root);
  const BufferView& source = parts[static_cast<std::size_t>(root)].input;
  for (const CollectivePart& part : parts) part.stream->copy(part.output, source);
}

void HostCommunicator::all_gather(std::span<const CollectivePart> parts) {
  require(parts, 0);
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
