// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique.h"

#include "belfry/error.h"
#include "nvtx_range.h"
#include "ownership.h"
#include "work_trace.h"

#include <cstddef>
#include <numeric>
#include <string>

namespace belfry::cuda {
namespace {

std::uint64_t bytes_of(std::span<const CollectivePart> parts) {
  std::uint64_t bytes = 0;
  for (const CollectivePart& part : parts) bytes += part.input.bytes();
  return bytes;
}

}  // namespace

Clique::Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices)
    : Clique(std::move(shared), devices, {.size = static_cast<int>(devices.size())}) {}

Clique::Clique(std::shared_ptr<SharedState> shared, std::vector<Device*> devices, RankSpan span)
    : shared_(std::move(shared)),
      devices_(std::move(devices)),
      span_(span),
      ranks_(devices_.size()) {
  std::iota(ranks_.begin(), ranks_.end(), span_.first);
}

void Clique::all_reduce(ReduceOp op, std::span<const CollectivePart> parts) {
  for (const auto& own : collectives_of(parts, members())) {
    require({.kind = CollectiveKind::kAllReduce, .parts = own, .op = op});
  }
  carry_out({.kind = CollectiveKind::kAllReduce, .parts = parts, .op = op},
            shared().counters.all_reduce, bytes_of(parts), [&] { do_all_reduce(op, parts); });
}

void Clique::broadcast(int root, std::span<const CollectivePart> parts) {
  const Collective collective{.kind = CollectiveKind::kBroadcast, .parts = parts, .root = root};
  require(collective);
  const int sender = root - first_rank();
  const bool is_here = sender >= 0 && sender < members();
  const std::uint64_t bytes = is_here ? bytes_of(parts.subspan(sender, 1)) : 0;
  carry_out(collective, shared().counters.broadcast, bytes, [&] { do_broadcast(root, parts); });
}

void Clique::all_gather(std::span<const CollectivePart> parts) {
  const Collective collective{.kind = CollectiveKind::kAllGather, .parts = parts};
  require(collective);
  carry_out(collective, shared().counters.all_gather, bytes_of(parts),
            [&] { do_all_gather(parts); });
}

void Clique::record(const detail::FlightGroup& group) {
  if (shared_->options.recorder != nullptr) {
    flights_ = std::make_unique<FlightCalls>(shared_, group);
  }
}

// Counts the collective, and shows the call to profilers, the trace and the flight recorder.
template <class Work>
void Clique::carry_out(const Collective& collective, Counters::Verb& verb, std::uint64_t bytes,
                       Work&& work) {
  const NvtxRange range(shared().nvtx, to_string(collective.kind), bytes,
                        collective.parts.size());
  verb.call(bytes);
  tell(collective.kind, collective.parts);
  const UntoldWork own;
  if (flights_ == nullptr || collective.parts.empty()) return work();
  flights_->begin(collective, devices_.size());
  work();
  flights_->end(tensor(collective.parts, 0));
}

void Clique::tell(CollectiveKind kind, std::span<const CollectivePart> parts) const {
  if (shared_->work_trace == nullptr) return;
  for (const CollectivePart& part : parts) stream(part).tell(to_string(kind));
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

void Clique::require(Collective collective) const {
  collective.ranks = span_.size;
  collective.first = span_.first;
  validate(collective, members());
  for (int member = 0; member < members(); ++member) {
    const CollectivePart& part = collective.parts[static_cast<std::size_t>(member)];
    const std::string rank = std::to_string(span_.first + member);
    if (&own(*shared_, *part.stream).state() != &device(member).state()) {
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "the stream of rank " + rank + " is not of the device of that rank");
    }
    const auto require_here = [&](const BufferView& view) {
      if (own(*shared_, view).state().gpu() == device(member).gpu()) return;
      throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                                 "a buffer of rank " + rank + " is not on the device of that rank");
    };
    if (collective.reads_input_of(member)) require_here(part.input);
    require_here(part.output);
  }
}

}  // namespace belfry::cuda
