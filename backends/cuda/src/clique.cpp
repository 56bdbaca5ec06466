// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique.h"

#include "belfry/backend/device.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"
#include "nvtx_range.h"
#include "ownership.h"
#include "work_trace.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace belfry::cuda {

Clique::Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices)
    : Clique(std::move(shared), devices, {.size = static_cast<int>(devices.size())}) {}

Clique::Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices, RankSpan span)
    : shared_(std::move(shared)),
      devices_(std::move(devices)),
      span_(span),
      ranks_(devices_.size()) {
  std::iota(ranks_.begin(), ranks_.end(), span_.first);
}

// Counts the collective, and shows the call to profilers, the trace and the flight recorder.
void Clique::run(const Collective& given) {
  Collective collective = given;
  collective.ranks = span_.size;
  collective.first = span_.first;
  if (collective.kind == CollectiveKind::kAllReduce) {
    Collective one = collective;
    for (const auto& own : collectives_of(given.parts, members())) {
      one.parts = own;
      require(one);
    }
  } else {
    require(collective);
  }
  const std::span<const std::size_t> counts = collective.counts;
  if (std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end()) {
    collective.counts = {};  // All are equal.
  }
  const std::uint64_t bytes = collective.bytes();
  const NvtxRange range(shared().nvtx, to_string(collective.kind), bytes, collective.parts.size());
  counter_of(collective.kind).call(bytes);
  tell(collective);
  const UntoldWork own;
  if (flights_ == nullptr || collective.parts.empty()) return carry_out(collective);
  flights_->begin(collective, devices_.size());
  carry_out(collective);
  flights_->end(tensor(collective.parts, 0));
}

void Clique::carry_out(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      return do_all_reduce(collective.op, collective.parts);
    case CollectiveKind::kBroadcast:
      return do_broadcast(collective.root, collective.parts);
    case CollectiveKind::kAllGather:
      return do_all_gather(collective);
    case CollectiveKind::kReduceScatter:
      return do_reduce_scatter(collective);
    case CollectiveKind::kExchange:
      return do_exchange(collective);
  }
}

Counters::Verb& Clique::counter_of(CollectiveKind kind) const {
  Counters& counters = shared().counters;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return counters.all_reduce;
    case CollectiveKind::kBroadcast:
      return counters.broadcast;
    case CollectiveKind::kAllGather:
      return counters.all_gather;
    case CollectiveKind::kReduceScatter:
      return counters.reduce_scatter;
    case CollectiveKind::kExchange:
      break;
  }
  return counters.exchange;
}

void Clique::record(const detail::FlightGroup& group) {
  if (shared_->options.recorder != nullptr) {
    flights_ = std::make_unique<FlightCalls>(shared_, group);
  }
}

void Clique::tell(const Collective& collective) const {
  if (shared_->work_trace == nullptr) return;
  for (std::size_t i = 0; i < collective.parts.size(); ++i) {
    const bool is_involved = collective.involves(static_cast<int>(i % devices_.size()));
    if (is_involved) stream(collective.parts[i]).tell(to_string(collective.kind));
  }
}

void Clique::check_health() {
  for (Device* device : devices_) device->check_health();
}

Stream& Clique::stream(const CollectivePart& part) const { return own(*shared_, *part.stream); }

void* Clique::address(const BufferView& view) const { return address_of(*shared_, view); }

void Clique::reduce_received(const Collective& collective) {
  std::vector<Transfer> transfers;
  std::vector<Kernel> kernels(devices_.size());
  for (int member = 0; member < members(); ++member) {
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(member)];
    const int own = first_rank() + member;
    Kernel& kernel = kernels[static_cast<std::size_t>(member)];
    kernel.kind = KernelKind::kReduceReplicas;
    kernel.parameters.reduce = collective.op;
    kernel.outputs = {part.output};
    const std::size_t bytes = part.output.bytes();
    const BufferPtr room =
        part.stream->device().allocate(bytes * static_cast<std::size_t>(size()), *part.stream);
    for (int rank = 0; rank < size(); ++rank) {
      const BufferView received{room, bytes * static_cast<std::size_t>(rank), part.output.count,
                                part.output.dtype};
      kernel.inputs.push_back(received);
      const BufferView sent = collective.slice(part.input, rank);
      if (!is_here(rank)) transfers.push_back({own, rank, sent, {}});
      const BufferView from_here =
          is_here(rank)
              ? collective.slice(
                    collective.parts[static_cast<std::size_t>(rank - first_rank())].input, own)
              : BufferView{};
      transfers.push_back({rank, own, from_here, received});
    }
  }
  do_exchange({.kind = CollectiveKind::kExchange,
               .parts = collective.parts,
               .transfers = transfers,
               .ranks = collective.ranks,
               .first = collective.first});
  for (std::size_t member = 0; member < kernels.size(); ++member) {
    if (kernels[member].outputs.front().count == 0) continue;
    collective.parts[member].stream->launch(std::move(kernels[member]));
  }
}

std::vector<BufferPtr> Clique::buffers_of(std::span<const CollectivePart> parts) {
  std::vector<BufferPtr> buffers;
  for (const CollectivePart& part : parts) {
    if (part.input.buffer != nullptr) buffers.push_back(part.input.buffer);
    const bool is_new = part.output.buffer != part.input.buffer;
    if (part.output.buffer != nullptr && is_new) buffers.push_back(part.output.buffer);
  }
  return buffers;
}

std::vector<BufferPtr> Clique::buffers_of(std::span<const Transfer> transfers) const {
  std::vector<BufferPtr> buffers;
  for (const Transfer& one : transfers) {
    if (is_here(one.from)) buffers.push_back(one.input.buffer);
    if (is_here(one.to)) buffers.push_back(one.output.buffer);
  }
  return buffers;
}

void Clique::require(const Collective& collective) const {
  validate(collective, members());
  for (int member = 0; member < members(); ++member) {
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(member)];
    if (&own(*shared_, *part.stream).state() != &device(member).state()) {
      const std::string rank = std::to_string(span_.first + member);
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "the stream of rank " + rank + " is not of the device of that rank");
    }
    if (collective.reads_input_of(member)) require_here(member, part.input);
    if (collective.kind != CollectiveKind::kExchange) require_here(member, part.output);
  }
  if (collective.kind != CollectiveKind::kExchange) return;
  for (const Transfer& one : collective.transfers) {
    if (is_here(one.from)) require_here(one.from - span_.first, one.input);
    if (is_here(one.to)) require_here(one.to - span_.first, one.output);
  }
}

void Clique::require_here(int member, const BufferView& view) const {
  if (own(*shared_, view).state().gpu() == device(member).gpu()) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a buffer of rank " +
                                                              std::to_string(span_.first + member) +
                                                              " is not on the device of that rank");
}

}  // namespace belfry::cuda
