// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/reduction_in_parts.h"

#include "backend/access_order.h"
#include "belfry/backend/device.h"
#include "belfry/backend/host_kernels.h"
#include "belfry/backend/host_visible.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "values/held.h"

#include <algorithm>
#include <exception>

namespace belfry::detail {
namespace {

// Ranges begin at multiples of a cache line.
constexpr std::size_t kRangeAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kRangeAlignment - 1) / kRangeAlignment * kRangeAlignment;
}

HostVisibleDevice& visible(const Placement& place) {
  auto* const device = dynamic_cast<HostVisibleDevice*>(&device_of(place));
  check(device != nullptr, "a reduction in parts on a device whose memory the host does not see");
  return *device;
}

// Whether the host holds the elements of the other processes.
bool is_whole(std::span<const std::vector<LeafRef>> parts, std::size_t leaf) {
  return std::ranges::any_of(
      parts, [leaf](const auto& part) { return held(*part[leaf].tensor) != nullptr; });
}

}  // namespace

std::shared_ptr<std::byte> PartsRoom::take(std::size_t bytes) {
  if (bytes > bytes_ || memory_.use_count() > 1) {
    memory_.reset(new std::byte[bytes]);
    bytes_ = bytes;
  }
  return {memory_, memory_.get()};
}

ReductionInParts::Range ReductionInParts::range_of(const Leaf& leaf, int process) const {
  const std::size_t bytes = leaf.count * size_of(leaf.dtype);
  if (leaf.is_whole) return {0, bytes};
  const auto processes = static_cast<std::size_t>(exchange_.processes());
  const std::size_t each = aligned((bytes + processes - 1) / processes);
  const std::size_t begin = std::min(bytes, each * static_cast<std::size_t>(process));
  return {begin, std::min(bytes, begin + each)};
}

// A failure goes to the exchange: the other processes wait.
template <class F>
void ReductionInParts::exchange_after(bool is_exchange, const F& work) {
  if (!is_exchange) return work();
  std::exception_ptr failure;
  sent_.clear();
  received_.clear();
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  exchange_.exchange(failure, sent_, received_);
}

void ReductionInParts::reduce(ReduceOp op, ReductionOrder order,
                              std::span<const std::vector<LeafRef>> parts,
                              std::span<const std::size_t> leaves) {
  const bool is_exchange =
      !std::ranges::all_of(leaves, [&](std::size_t leaf) { return is_whole(parts, leaf); });
  exchange_after(is_exchange, [&] { prepare(parts, leaves); });
  exchange_after(is_exchange, [&] { combine(op, order); });
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    for (int own = 0; own < replicas_.own.count(); ++own) {
      const int replica = replicas_.own.id(own);
      const auto part = static_cast<std::size_t>(replicas_.all.position(replica));
      const Placement place{&replicas_.devices.backend(), replicas_.devices.index(replica)};
      *parts[part][leaves[i]].tensor = leaves_[i].result.copy_to(place);
    }
  }
}

// The first of the other replicas needs no room: its range comes to the place of the result.
std::size_t ReductionInParts::room_for_others(std::span<const std::vector<LeafRef>> parts,
                                              std::span<const std::size_t> leaves) const {
  const auto others = parts.size() - static_cast<std::size_t>(replicas_.own.count());
  std::size_t bytes = 0;
  for (const std::size_t index : leaves) {
    const LeafRef& leaf = parts.front()[index];
    if (is_whole(parts, index)) continue;
    const Range range = own_range({.dtype = leaf.dtype, .count = leaf.count});
    if (others > 1) bytes += (others - 1) * aligned(range.bytes());
  }
  return bytes;
}

void ReductionInParts::prepare(std::span<const std::vector<LeafRef>> parts,
                               std::span<const std::size_t> leaves) {
  const int first = replicas_.own.id(0);
  const auto own_part = static_cast<std::size_t>(replicas_.all.position(first));
  const Placement place{&replicas_.devices.backend(), replicas_.devices.index(first)};
  std::shared_ptr<std::byte> room = room_.take(room_for_others(parts, leaves));
  leaves_.reserve(leaves.size());
  for (const std::size_t index : leaves) {
    const AnyTensor& like = *parts[own_part][index].tensor;
    Leaf& leaf = leaves_.emplace_back();
    leaf.dtype = like.dtype();
    leaf.count = like.view().count;
    leaf.is_whole = is_whole(parts, index);
    leaf.result = AnyTensor::allocate(like.dtype(), like.shape(), place);
    if (leaf.count == 0) continue;
    const BufferView& view = leaf.result.view();
    leaf.elements = {view.buffer, visible(place).fill_in_place(view)};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (is_own(part)) {
        prepare_own(leaf, *parts[part][index].tensor);
      } else {
        const int replica = replicas_.all.id(static_cast<int>(part));
        prepare_other(leaf, *parts[part][index].tensor, replica, room);
      }
    }
  }
}

void ReductionInParts::prepare_other(Leaf& leaf, const AnyTensor& tensor, int replica,
                                     std::shared_ptr<std::byte>& room) {
  if (leaf.is_whole) {
    leaf.inputs.push_back(held(tensor)->elements());
    return;
  }
  const Range range = own_range(leaf);
  std::shared_ptr<std::byte> place(leaf.elements, leaf.elements.get() + range.begin);
  if (std::ranges::find(leaf.inputs, place.get()) != leaf.inputs.end()) {
    place = room;
    room = {room, room.get() + aligned(range.bytes())};
  }
  leaf.inputs.push_back(place.get());
  if (range.bytes() == 0) return;
  const auto after = std::ranges::upper_bound(exchange_.first_replica, replica);
  const int from = static_cast<int>(after - exchange_.first_replica.begin()) - 1;
  received_.push_back({from, std::move(place), range.bytes()});
}

void ReductionInParts::prepare_own(Leaf& leaf, const AnyTensor& tensor) {
  order_read(device_of(tensor.placement()).compute_stream(), tensor.view());
  const std::byte* const elements = visible(tensor.placement()).read_in_place(tensor.view());
  leaf.inputs.push_back(elements + own_range(leaf).begin);
  if (leaf.is_whole) return;
  for (int process = 0; process < exchange_.processes(); ++process) {
    const Range range = range_of(leaf, process);
    if (process == exchange_.rank || range.bytes() == 0) continue;
    sent_.push_back({process, {tensor.view().buffer, elements + range.begin}, range.bytes()});
  }
}

void ReductionInParts::combine(ReduceOp op, ReductionOrder order) {
  KernelCall call;
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.reduce = op;
  call.parameters.order = order;
  for (const Leaf& leaf : leaves_) {
    if (leaf.count == 0) continue;
    const Range own = own_range(leaf);
    const std::size_t count = own.bytes() / size_of(leaf.dtype);
    call.inputs.clear();
    for (const std::byte* const input : leaf.inputs) {
      call.inputs.push_back({const_cast<std::byte*>(input), count, leaf.dtype});
    }
    call.outputs = {{leaf.elements.get() + own.begin, count, leaf.dtype}};
    if (count != 0) reduce_on_host(call);
    if (!leaf.is_whole) exchange_result(leaf);
  }
}

void ReductionInParts::exchange_result(const Leaf& leaf) {
  const auto at = [&](const Range& range) {
    return std::shared_ptr<std::byte>(leaf.elements, leaf.elements.get() + range.begin);
  };
  const Range own = own_range(leaf);
  for (int process = 0; process < exchange_.processes(); ++process) {
    if (process == exchange_.rank) continue;
    const Range range = range_of(leaf, process);
    if (own.bytes() != 0) sent_.push_back({process, at(own), own.bytes()});
    if (range.bytes() != 0) received_.push_back({process, at(range), range.bytes()});
  }
}

}  // namespace belfry::detail
