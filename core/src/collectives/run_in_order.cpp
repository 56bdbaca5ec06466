// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/run_in_order.h"

#include "backend/access_order.h"
#include "belfry/backend/device.h"
#include "collectives/order_after.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace belfry::detail {
namespace {

// The memory of a member in a collective.
struct Memory {
  std::vector<const BufferView*> read{};
  std::vector<const BufferView*> written{};
  void add(const BufferView& input, const BufferView& output) {
    if (input.buffer != nullptr) read.push_back(&input);
    if (output.buffer != nullptr) written.push_back(&output);
  }
};

std::vector<Memory> memory_of(const Communicator& communicator, const Collective& collective) {
  const std::span<const int> ranks = communicator.local_ranks();
  std::vector<Memory> all(collective.parts.size());
  for (std::size_t member = 0; member < all.size(); ++member) {
    all[member].add(collective.parts[member].input, collective.parts[member].output);
  }
  for (const Transfer& one : collective.transfers) {
    const auto from = std::ranges::find(ranks, one.from);
    const auto to = std::ranges::find(ranks, one.to);
    if (from != ranks.end()) all[static_cast<std::size_t>(from - ranks.begin())].add(one.input, {});
    if (to != ranks.end()) all[static_cast<std::size_t>(to - ranks.begin())].add({}, one.output);
  }
  return all;
}

}  // namespace

void run_in_order(Communicator& communicator, const Collective& collective) {
  const std::vector<Memory> memory = memory_of(communicator, collective);
  std::vector<std::shared_ptr<StreamPoint>> ends;
  for (std::size_t member = 0; member < memory.size(); ++member) {
    Stream& stream = *collective.parts[member].stream;
    Device& device = stream.device();
    order_after(stream, device.compute_stream(), device);
    ends.push_back(std::make_shared<StreamPoint>(device));
    for (const BufferView* const view : memory[member].read) order_read(stream, *view);
    for (const BufferView* const view : memory[member].written) order_write(stream, *view);
  }
  try {
    communicator.run(collective);
    for (std::size_t member = 0; member < memory.size(); ++member) {
      ends[member]->set(*collective.parts[member].stream);
      for (const BufferView* const view : memory[member].written) leave_write(*view, ends[member]);
      for (const BufferView* const view : memory[member].read) leave_read(*view, ends[member]);
    }
  } catch (...) {
    // A part of the work may be enqueued.
    for (const CollectivePart& part : collective.parts) {
      Device& device = part.stream->device();
      order_after(device.compute_stream(), *part.stream, device);
    }
    throw;
  }
}

}  // namespace belfry::detail
