// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_communicator.h"

#include "belfry/backend/collective.h"
#include "host/host_device.h"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

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

std::size_t bytes_of(std::span<const CollectivePart> parts) {
  std::size_t bytes = 0;
  for (const CollectivePart& part : parts) bytes += part.input.bytes() + part.output.bytes();
  return bytes;
}

// Adds up in replica order, as a part of a collective of `bytes`, on the stream of the first
// output.
void launch_reduction(ReduceOp op, std::vector<BufferView> inputs, std::vector<BufferView> outputs,
                      Stream& stream, std::size_t bytes) {
  Kernel kernel;
  kernel.kind = KernelKind::kReduceReplicas;
  kernel.parameters.reduce = op;
  kernel.inputs = std::move(inputs);
  kernel.outputs = std::move(outputs);
  HostStream* const own = host_stream(&stream);
  own == nullptr ? stream.launch(std::move(kernel)) : own->launch(std::move(kernel), bytes);
}

void all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  require_values(parts);
  spread_failure(parts);
  std::vector<BufferView> inputs;
  std::vector<BufferView> outputs;
  for (const CollectivePart& part : parts) {
    inputs.push_back(part.input);
    outputs.push_back(part.output);
  }
  launch_reduction(op, std::move(inputs), std::move(outputs), *parts.front().stream,
                   bytes_of(parts));
}

void broadcast(const Collective& collective) {
  const CollectivePart& from = collective.parts[static_cast<std::size_t>(collective.root)];
  require_value(from);
  spread_failure(collective.parts);
  for (const CollectivePart& part : collective.parts) part.stream->copy(part.output, from.input);
}

// The same bytes as integers, whose sum of one input is the input.
BufferView as_integers(BufferView view) {
  const std::size_t size = size_of(view.dtype);
  if (size == 4 || size == 8) {
    view.dtype = size == 4 ? DType::kInt32 : DType::kInt64;
    return view;
  }
  view.count = view.bytes();
  view.dtype = DType::kUInt8;
  return view;
}

// A reduction of one input reads the input once, and its stores bypass the caches.
void all_gather(const Collective& collective) {
  require_values(collective.parts);
  spread_failure(collective.parts);
  int rank = 0;
  for (const CollectivePart& from : collective.parts) {
    std::vector<BufferView> outputs;
    for (const CollectivePart& to : collective.parts) {
      outputs.push_back(as_integers(collective.slice(to.output, rank)));
    }
    launch_reduction(ReduceOp::kSum, {as_integers(from.input)}, std::move(outputs), *from.stream,
                     bytes_of(collective.parts));
    ++rank;
  }
}

// In place, a slice is read for the output of the same rank alone.
void reduce_scatter(const Collective& collective) {
  require_values(collective.parts);
  spread_failure(collective.parts);
  int rank = 0;
  for (const CollectivePart& to : collective.parts) {
    std::vector<BufferView> slices;
    for (const CollectivePart& from : collective.parts) {
      slices.push_back(collective.slice(from.input, rank));
    }
    launch_reduction(collective.op, std::move(slices), {to.output}, *to.stream,
                     bytes_of(collective.parts));
    ++rank;
  }
}

void exchange(const Collective& collective) {
  std::vector<CollectivePart> involved;
  for (std::size_t member = 0; member < collective.parts.size(); ++member) {
    if (!collective.involves(static_cast<int>(member))) continue;
    involved.push_back(collective.parts[member]);
  }
  const auto stream = [&](int rank) {
    return collective.parts[static_cast<std::size_t>(rank)].stream;
  };
  for (const Transfer& one : collective.transfers) {
    require_value({one.input, {}, stream(one.from)});
  }
  spread_failure(involved);
  for (const Transfer& one : collective.transfers) stream(one.to)->copy(one.output, one.input);
}

}  // namespace

void HostCommunicator::run(const Collective& given) {
  Collective collective = given;
  collective.ranks = size();
  collective.first = 0;
  if (collective.kind == CollectiveKind::kAllReduce) {
    const auto collectives = collectives_of(given.parts, size());
    for (const auto& own : collectives) {
      collective.parts = own;
      validate(collective, size());
    }
    for (const auto& own : collectives) all_reduce(given.op, own);
    return;
  }
  validate(collective, size());
  switch (collective.kind) {
    case CollectiveKind::kBroadcast:
      return broadcast(collective);
    case CollectiveKind::kAllGather:
      return all_gather(collective);
    case CollectiveKind::kReduceScatter:
      return reduce_scatter(collective);
    case CollectiveKind::kExchange:
      return exchange(collective);
    case CollectiveKind::kAllReduce:
      return;  // Above.
  }
}

}  // namespace belfry::host
