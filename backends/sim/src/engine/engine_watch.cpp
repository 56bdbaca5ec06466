// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Announcements of the engine to an observer. Engines without an observer never get here.
#include "belfry/backend/current_slot.h"
#include "engine/engine.h"

namespace belfry::engine {
namespace {

using sim::Observation;

void set_event(Observation& seen, const EventRecord& record) {
  seen.event = record.event;
  seen.record = record.generation;
}

void name(sim::StreamItem& item, const CommandQueue& queue, std::uint64_t number) {
  item = {queue.number(), number};
}

}  // namespace

void Engine::tell_host(Observation seen, const CallSite& site) {
  seen.actor = options_.watch->actor();
  seen.site = site_or_submitting(site);
  if (seen.site.empty()) seen.code = options_.watch->code();
  options_.watch->tell(seen);
}

void Engine::tell_stream(Observation seen, const CommandQueue& queue, std::uint64_t number) {
  sim::StreamItem item;
  name(item, queue, number);
  seen.actor = {queue.agent()};
  seen.items = {&item, 1};
  options_.watch->tell(seen);
}

void Engine::saw_work(Observation::Kind kind, std::span<CommandQueue* const> queues,
                      const Command& command) {
  const bool submitted = kind == Observation::Kind::kSubmitted;
  items_.clear();
  for (const CommandQueue* queue : queues) {
    // Submitted work is at the end of its queue, and work that takes effect at the head.
    items_.push_back({queue->number(), submitted ? queue->enqueued_ : queue->done_ + 1});
  }
  Observation seen;
  seen.kind = kind;
  seen.items = items_;
  seen.name = command.name;
  seen.of_user = command.is_users;
  seen.footprints = footprints_of(command);
  if (submitted) return tell_host(seen, command.site);
  seen.actor = {queues.front()->agent()};
  seen.site = command.site;
  options_.watch->tell(seen);
}

void Engine::saw_begin(const QueueItem& head) {
  WorkTap* const tap = options_.watch->tap();
  if (tap == nullptr) return;
  const bool is_alone = head.kind == QueueItem::Kind::kWork;
  tap->begins(is_alone ? *head.command : head.collective->command);
}

void Engine::saw_end(std::span<CommandQueue* const> queues, const Command& command, bool failed) {
  if (!failed) saw_work(Observation::Kind::kTookEffect, queues, command);
  if (WorkTap* const tap = options_.watch->tap()) tap->ended(command, queues, failed);
}

void Engine::saw_item(Observation::Kind kind, const CommandQueue& queue,
                      const EventRecord* record) {
  Observation seen;
  seen.kind = kind;
  if (record != nullptr) set_event(seen, *record);
  const bool of_host =
      kind == Observation::Kind::kRecorded || kind == Observation::Kind::kWaitQueued;
  if (!of_host) return tell_stream(seen, queue, queue.done_ + 1);
  sim::StreamItem item;
  name(item, queue, queue.enqueued_);
  seen.items = {&item, 1};
  tell_host(seen, {});
}

void Engine::saw_finish(const CommandQueue& queue, bool failed) {
  Observation seen;
  seen.kind = Observation::Kind::kFinished;
  seen.failed = failed;
  tell_stream(seen, queue, queue.done_);
}

void Engine::saw_without_record(Observation::Kind kind, const EventPoint& event) {
  Observation seen;
  seen.kind = kind;
  seen.done = kind == Observation::Kind::kQueried;
  seen.event = event.name;
  tell_host(seen, {});
}

void Engine::saw_host(Observation seen, const CommandQueue& queue, std::uint64_t number,
                      const CallSite& site) {
  sim::StreamItem item;
  name(item, queue, number);
  seen.items = {&item, 1};
  tell_host(seen, site);
}

void Engine::saw_host(Observation seen, const EventRecord& record, const CallSite& site) {
  set_event(seen, record);
  tell_host(seen, site);
}

void Engine::saw_read(const Footprint& footprint, const CallSite& site, bool failed) {
  Observation seen;
  seen.kind = Observation::Kind::kHostRead;
  seen.failed = failed;
  seen.footprints = {&footprint, 1};
  tell_host(seen, site);
}

void Engine::exchanged(const Allocation& allocation, bool may_watch) {
  if (options_.watch == nullptr) return;
  const Lock lock(door_);
  const Footprint whole{allocation.resource(), 0, allocation.bytes(), AccessMode::kWrite};
  Observation seen;
  seen.kind = Observation::Kind::kForeignMemory;
  if (may_watch) {
    seen.done =
        options_.watch->share(allocation.resource(), {allocation.data(), allocation.bytes()});
  }
  seen.footprints = {&whole, 1};
  tell_host(seen, {});
}

void Engine::copies_for_write(const CommandQueue& queue, const Access& access) {
  if (options_.watch == nullptr) return;
  const Lock lock(door_);
  const Footprint view{access.allocation->resource(), access.range.begin, access.range.end,
                       AccessMode::kWrite};
  sim::StreamItem item;
  name(item, queue, 0);
  Observation seen;
  seen.kind = Observation::Kind::kCopiedOnWrite;
  seen.items = {&item, 1};
  seen.footprints = {&view, 1};
  tell_host(seen, {});
}

// Without the lock: the log is asked for at any time, also by a thread that may not enter.
void Engine::asked(std::string_view what) {
  if (options_.watch == nullptr) return;
  Observation seen;
  seen.kind = Observation::Kind::kQueried;
  seen.name = what;
  tell_host(seen, {});
}

}  // namespace belfry::engine
