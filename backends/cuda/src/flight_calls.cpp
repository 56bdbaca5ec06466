// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "flight_calls.h"

#include "belfry/backend/current_slot.h"
#include "shared_state.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace belfry::cuda {
namespace {

// Collectives whose end nobody has asked for. A question is about the first half.
constexpr std::size_t kMostPending = 32;

// Of an exchange: each transfer is a tensor.
detail::FlightValues values_of(const Collective& collective, std::size_t members) {
  if (collective.kind == CollectiveKind::kExchange) {
    if (collective.transfers.empty()) return {};
    const Transfer& first = collective.transfers.front();
    const BufferView& view = first.input.buffer != nullptr ? first.input : first.output;
    return {.dtype = view.dtype, .count = view.count, .tensors = collective.transfers.size()};
  }
  const bool is_broadcast = collective.kind == CollectiveKind::kBroadcast;
  const bool is_reduction = collective.kind == CollectiveKind::kAllReduce ||
                            collective.kind == CollectiveKind::kReduceScatter;
  const CollectivePart& first = collective.parts.front();
  const bool has_equal_outputs = is_broadcast || !collective.counts.empty();
  const BufferView& view = has_equal_outputs && !is_reduction ? first.output : first.input;
  return {.op = is_reduction ? std::optional(collective.op) : std::nullopt,
          .dtype = view.dtype,
          .count = view.count,
          .tensors = collective.parts.size() / members,
          .root = is_broadcast ? collective.root : -1};
}

}  // namespace

FlightCalls::FlightCalls(std::shared_ptr<SharedState> shared, const detail::FlightGroup& group)
    : shared_(std::move(shared)),
      ring_(shared_->options.recorder->ring()),
      group_(ring_.add(group)) {
  ring_.add(*this);
}

FlightCalls::~FlightCalls() { ring_.remove(*this); }

void FlightCalls::begin(const Collective& collective, std::size_t members) {
  retire();
  present_.ticket =
      ring_.begin(group_, to_string(collective.kind).data(), detail::submitting_site());
  ring_.set_values(present_.ticket, values_of(collective, members));
}

// Without an event the end of the collective stays unknown: the collective itself is enqueued.
void FlightCalls::end(std::span<const CollectivePart> parts) noexcept {
  Call call = std::exchange(present_, {});
  try {
    while (call.done.size() < parts.size()) call.done.push_back(std::make_unique<Event>(shared_));
    for (std::size_t member = 0; member < parts.size(); ++member) {
      parts[member].stream->record(*call.done[member]);
    }
    const std::lock_guard lock(mutex_);
    if (!is_stopped_) pending_.push_back(std::move(call));
  } catch (const std::exception&) {
  }
}

// An event that reports a failure is of work that does not end.
bool FlightCalls::is_done(const Call& call) {
  try {
    return std::ranges::all_of(call.done, [](const auto& done) { return done->query(); });
  } catch (const std::exception&) {
    return false;
  }
}

// Collectives of a communicator end in their order. Events of one that has ended serve the next.
void FlightCalls::retire() {
  std::vector<detail::FlightTicket> ended;
  {
    const std::lock_guard lock(mutex_);
    if (pending_.size() < kMostPending || !is_done(pending_[kMostPending / 2])) return;
    const auto end = pending_.begin() + kMostPending / 2 + 1;
    for (auto call = pending_.begin(); call != end; ++call) ended.push_back(call->ticket);
    present_.done = std::move(pending_.front().done);
    pending_.erase(pending_.begin(), end);
  }
  for (const detail::FlightTicket& ticket : ended) {
    ring_.set_state(ticket, detail::FlightState::kCompleted);
  }
}

void FlightCalls::stop() noexcept {
  ring_.remove(*this);
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  pending_.clear();
}

void FlightCalls::update() noexcept {
  const std::lock_guard lock(mutex_);
  for (const Call& call : pending_) {
    if (!is_done(call)) return;
    ring_.complete(call.ticket);
  }
}

}  // namespace belfry::cuda
