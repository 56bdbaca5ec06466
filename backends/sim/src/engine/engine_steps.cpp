// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "engine/access_check.h"
#include "engine/engine.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace belfry::engine {
namespace {

using Seen = sim::Observation::Kind;

// How many commands may run at most because something was enqueued.
constexpr std::uint32_t kMostAtOnce = 3;

// Nothing may fail after the first written byte: a command that adds to its bytes cannot run twice.
void make_room_for_marks(const Command& command) {
  for (const Access& access : command.writes) access.allocation->written().begin_room();
  for (const Access& access : command.writes) access.allocation->written().make_room();
}

void mark_written(const Command& command) {
  for (const Access& access : command.writes) access.allocation->written().insert(access.range);
}

// A reader of missing bytes gets the reason, also without a wait for the failure.
void spoil_writes(const Command& command, const std::exception_ptr& failure) {
  for (const Access& access : command.writes) access.allocation->spoil(failure);
}

void lose_writes(const Command& command, const std::exception_ptr& failure) {
  for (const Access& access : command.writes) access.allocation->lose(access.range, failure);
}

std::exception_ptr exception_of(const FailurePtr& failure) {
  return failure == nullptr ? nullptr : failure->exception;
}

// For ThreadSanitizer: the owners of memory of the program are released after the body.
[[maybe_unused]] void order_owners(const Command& command, QueueHistory& history) {
  for (const auto* accesses : {&command.reads, &command.writes}) {
    for (const Access& access : *accesses) {
      if (const void* const edge = access.allocation->end_edge()) history.queue_releases(edge);
    }
  }
}

void run_users(const Command& command, QueueHistory& history) {
  try {
    history.run(command);
  } catch (...) {
    if constexpr (kTsan) order_owners(command, history);
    throw;
  }
  if constexpr (kTsan) order_owners(command, history);
}

bool is_whole(const Access& access) {
  return access.range == ByteRange{0, access.allocation->bytes()};
}

// Whether all copies of `command` are made by sharing. Otherwise none is shared.
bool share_copies(const Command& command) {
  if (!command.copies || !is_whole(command.reads[0])) return false;
  const Allocation& source = *command.reads[0].allocation;
  const auto fits = [&](const Access& to) {
    return is_whole(to) && to.allocation->bytes() == source.bytes();
  };
  return std::ranges::all_of(command.writes, fits) &&
         std::ranges::all_of(command.writes,
                             [&](const Access& to) { return to.allocation->share(source); });
}

// Before any write: written allocations get their own bytes, for they may share them. Read
// allocations get bytes too, for reads may be unchecked.
void own_bytes(const Command& command) {
  for (const Access& write : command.writes) write.allocation->make_own();
  for (const Access& read : command.reads) {
    const bool is_private = command.may_write_reads && read.range.begin != read.range.end;
    if (is_private || read.allocation->data() == nullptr) read.allocation->make_own();
  }
}

bool calls_program(const QueueItem& item) {
  return item.kind == QueueItem::Kind::kWork && item.command->calls_program;
}

// The digest of the data that `command` writes; for a collective, of the data on the device of
// `queue`. A copy of a collective's result has the digest of the result.
std::uint64_t digest_of(OperationKind kind, const Command& command, const CommandQueue& queue,
                        DigestExtent extent) {
  const std::size_t digested = command.writes.size() - command.scratch;
  std::uint64_t hash = 0;
  for (const Access& access : std::span(command.writes).first(digested)) {
    const bool elsewhere = access.allocation->device() != queue.device();
    if (kind == OperationKind::kCollective && elsewhere) continue;
    hash = digest(hash, access.allocation->data() + access.range.begin,
                  access.range.end - access.range.begin, extent);
  }
  return hash;
}

}  // namespace

void Engine::drain() {
  const Lock lock(door_);
  try_again();
  while (step_some_queue()) {
  }
  for (const auto& queue : queues_) queue->history_.order_caller();
}

void Engine::abandon(const CollectivePtr& collective, std::exception_ptr reason) {
  const Lock lock(door_);
  if (collective->failure != nullptr) return;
  collective->failure = std::make_shared<Failure>(Failure{std::move(reason)});
  for (CommandQueue* queue : collective->queues) {
    if (queue != nullptr) advance(*queue);
  }
  settle();
}

// Notes a queue whose head may be able to pass; `settle` looks at all noted queues. A list instead
// of recursion, because a single step can set a long chain of queues free.
void Engine::advance(CommandQueue& queue) {
  if (std::exchange(queue.queued_for_advance_, true)) return;
  to_advance_.push_back(&queue);
}

void Engine::settle() {
  while (!to_advance_.empty()) {
    advancing_.swap(to_advance_);
    for (CommandQueue* queue : advancing_) {
      queue->queued_for_advance_ = false;
      while (!queue->items_.empty() && pass_head(*queue)) {
      }
      const bool over = queue->closed_ && queue->items_.empty();
      if (over && !queue->queued_for_advance_) erase_queue(*queue);
    }
    advancing_.clear();
  }
}

// Whether the head of `queue` is done without taking a step.
bool Engine::pass_head(CommandQueue& queue) {
  QueueItem& head = queue.items_.front();
  switch (head.kind) {
    case QueueItem::Kind::kWork:
      if (!std::exchange(head.begun, true)) ready_.push(queue);
      return false;
    case QueueItem::Kind::kRecord:
      reach(*head.record, queue);
      if (options_.watch != nullptr) saw_item(Seen::kReached, queue, head.record.get());
      finish_head(queue, nullptr, nullptr);
      return true;
    case QueueItem::Kind::kWait:
      if (!head.record->reached) {
        if (!std::exchange(head.begun, true)) head.record->waiting_queues.push_back(&queue);
        return false;
      }
      queue.history_.queue_acquires(head.record.get());
      if (options_.watch != nullptr) saw_item(Seen::kPassed, queue, head.record.get());
      return finish_wait(queue, untold(head.record->failure));
    case QueueItem::Kind::kCollective:
      return arrive(queue, head);
  }
  return false;
}

bool Engine::arrive(CommandQueue& queue, QueueItem& head) {
  Collective& collective = *head.collective;
  const bool complete = collective.arrived == collective.queues.size();
  if (collective.failure != nullptr && !complete) {
    return finish_wait(queue, collective.failure);
  }
  if (std::exchange(head.begun, true)) return false;
  if (options_.watch != nullptr) saw_item(Seen::kArrived, queue, nullptr);
  if (++collective.arrived == collective.queues.size()) ready_.push(*collective.queues.front());
  return false;
}

void Engine::reach(EventRecord& record, CommandQueue& queue) {
  record.reached = true;
  queue.history_.queue_releases(&record);
  record.failure = queue.failure_;
  for (CommandQueue* waiting : record.waiting_queues) advance(*waiting);
  record.waiting_queues.clear();
  for (HostWait* wait : record.waiting_hosts) finish_wait_of_host(queue, *wait, record.failure);
  record.waiting_hosts.clear();
}

void Engine::finish_wait_of_host(CommandQueue& queue, HostWait& wait, const FailurePtr& failure) {
  queue.history_.queue_releases(&wait);
  complete(wait, failure);
}

// By value: the head, which goes away, may hold the failure.
bool Engine::finish_wait(CommandQueue& queue, FailurePtr failure) {
  finish_head(queue, exception_of(failure), failure);
  return true;
}

void Engine::finish_head(CommandQueue& queue, const std::exception_ptr& failure,
                         const FailurePtr& instead) {
  if (failure != nullptr) queue.fail(failure, instead);
  queue.items_.pop_front();
  ++queue.done_;
  if (options_.watch != nullptr) saw_finish(queue, failure != nullptr);
  std::erase_if(queue.waiting_hosts_, [&](const auto& waiting) {
    if (waiting.first > queue.done_) return false;
    finish_wait_of_host(queue, *waiting.second, queue.failure_);
    return true;
  });
}

// The end of the work, for example of a kernel, is no access of the waiting agent, which has made
// different kernels.
void Engine::step(CommandQueue& queue) {
  std::optional<Watch::Stay> nobody;
  const QueueItem& head = queue.items_.front();
  if (options_.watch != nullptr) {
    nobody.emplace(*options_.watch, std::nullopt);
    saw_begin(head);
  }
  // A copy, for the items that hold the collective go away.
  const bool stepped = head.kind == QueueItem::Kind::kCollective
                           ? step_collective(CollectivePtr(head.collective))
                           : step_work(queue);
  if (!stepped) {
    ++starved_;
    return ready_.push(queue);
  }
  starved_ = 0;
  settle();
  progress_.notify_all();
}

bool Engine::step_work(CommandQueue& queue) {
  const QueueItem& head = queue.items_.front();
  std::exception_ptr failure = exception_of(queue.failure_);
  queue.history_.queue_acquires(head.command.get());
  if (failure == nullptr && !execute(*head.command, queue, failure)) return false;
  if (failure != nullptr) spoil_writes(*head.command, failure);
  const bool failed = failure != nullptr;
  if (options_.watch != nullptr) {
    CommandQueue* const queues[] = {&queue};
    saw_end(queues, *head.command, failed);
  }
  note_execution(queue, *head.command, footprints_of(*head.command),
                 noted_digest_of(OperationKind::kExecute, *head.command, queue, failed), 0, failed);
  finish_head(queue, failure, last_resort_);
  advance(queue);
  return true;
}

bool Engine::step_collective(const CollectivePtr& collective) {
  std::exception_ptr failure = exception_of(collective->failure);
  for (CommandQueue* queue : collective->queues) {
    if (failure == nullptr) failure = exception_of(queue->failure_);
    queue->history_.queue_releases(collective.get());
  }
  if (failure == nullptr && !execute(collective->command, *collective->queues.front(), failure)) {
    return false;
  }
  if (failure != nullptr) spoil_writes(collective->command, failure);
  if (options_.watch != nullptr) {
    saw_end(collective->queues, collective->command, failure != nullptr);
  }
  const Command& command = collective->command;
  const std::vector<Footprint>& footprints = footprints_of(command);
  std::uint64_t digest = 0;
  for (CommandQueue* queue : collective->queues) {
    queue->history_.queue_acquires(collective.get());
    if (!command.alike || queue == collective->queues.front()) {
      digest = noted_digest_of(OperationKind::kCollective, command, *queue, failure != nullptr);
    }
    note_execution(*queue, command, footprints, digest, collective->queues.size(),
                   failure != nullptr);
    finish_head(*queue, failure, last_resort_);
    advance(*queue);
  }
  return true;
}

// The memory of the program that the body of a user's kernel touches is touched by the stream.
void Engine::run_body(const Command& command, CommandQueue& queue) {
  if (options_.watch == nullptr) return run_users(command, queue.history_);
  const Watch::Stay stay(*options_.watch, sim::Actor{queue.agent()});
  run_users(command, queue.history_);
}

// Whether the command has ended, in success or failure. False without memory: the command has then
// changed nothing.
bool Engine::execute(const Command& command, CommandQueue& queue, std::exception_ptr& failure) {
  try {
    check_accesses(command, queue, options_.check_initialised);
    make_room_for_marks(command);
    if (!share_copies(command)) {
      own_bytes(command);
      if (command.is_users) {
        run_body(command, queue);
      } else if (command.run) {
        command.run(command);
      }
    }
    mark_written(command);
    if (command.done) [[unlikely]]
      command.done();
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const PartlyDone& done) {
    failure = done.reason;
    lose_writes(command, failure);
    return true;
  } catch (...) {
    failure = std::current_exception();
    return true;
  }
  return true;
}

// Work of a single queue has no members.
void Engine::note_execution(const CommandQueue& queue, const Command& command,
                            std::span<const Footprint> footprints, std::uint64_t digest,
                            std::size_t members, bool failed) {
  if (options_.sink == nullptr) return;
  Operation operation;
  operation.kind = members == 0 ? OperationKind::kExecute : OperationKind::kCollective;
  operation.failed = failed;
  operation.members = static_cast<std::uint16_t>(std::min<std::size_t>(members, 0xFFFF));
  operation.agent = queue.agent();
  operation.subject = queue.done_ + 1;
  operation.value = digest;
  operation.footprints = footprints;
  operation.site = command.site;
  operation.name = command.name;
  options_.sink->on_operation(operation);
}

// 0 without a reader, and for work that has written nothing.
std::uint64_t Engine::noted_digest_of(OperationKind kind, const Command& command,
                                      const CommandQueue& queue, bool failed) const {
  if (options_.sink == nullptr || failed) return 0;
  return digest_of(kind, command, queue, options_.digest);
}

// Valid until the next call. Nothing without a reader.
const std::vector<Footprint>& Engine::footprints_of(const Command& command) {
  footprints_.clear();
  if (options_.sink == nullptr && options_.watch == nullptr) return footprints_;
  for (const Access& read : command.reads) {
    footprints_.push_back(
        {read.allocation->resource(), read.range.begin, read.range.end, AccessMode::kRead});
  }
  for (const Access& write : command.writes) {
    footprints_.push_back(
        {write.allocation->resource(), write.range.begin, write.range.end, AccessMode::kWrite});
  }
  return footprints_;
}

bool Engine::step_some_queue() {
  if (ready_.empty() || is_starved()) return false;
  step(ready_.take(choose_queue()));
  return true;
}

std::uint32_t Engine::choose_queue() {
  const std::uint32_t ready = ready_.size();
  if (!names_candidates_) return options_.chooser->choose(ChoiceKind::kAgent, ready);
  candidates_.clear();
  for (std::uint32_t i = 0; i < ready; ++i) candidates_.push_back(ready_.at(i).agent());
  return options_.chooser->choose_among(candidates_);
}

// Runs no body: the caller may hold a lock of the body's.
void Engine::run_some() {
  if (on_replica()) return;
  const std::uint32_t most = std::min(ready_.size(), kMostAtOnce);
  for (std::uint32_t left = options_.chooser->choose(ChoiceKind::kWork, most + 1); left > 0;
       --left) {
    if (ready_.empty() || is_starved()) return;
    const std::uint32_t which = choose_queue();
    if (calls_program(ready_.at(which).head())) return;
    step(ready_.take(which));
  }
}

}  // namespace belfry::engine
