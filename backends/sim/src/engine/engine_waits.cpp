// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/backend/stall_watch.h"
#include "belfry/error.h"
#include "engine/access_check.h"
#include "engine/engine.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace belfry::engine {
namespace {

using Seen = sim::Observation::Kind;

sim::Observation wait_seen(Seen kind, bool failed = false) {
  sim::Observation seen;
  seen.kind = kind;
  seen.failed = failed;
  return seen;
}

Operation wait_operation(std::uint64_t subject, std::uint64_t value, CallSite site) {
  Operation operation;
  operation.kind = OperationKind::kHostWait;
  operation.subject = subject;
  operation.value = value;
  operation.site = site;
  return operation;
}

// Whether the process has had no other thread. The C library tells; false if unknown.
bool is_only_thread() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

std::string head_text(const QueueItem& head) {
  switch (head.kind) {
    case QueueItem::Kind::kWork:
      return std::string(head.command->name) + " (" + to_string(head.command->site) + ")";
    case QueueItem::Kind::kRecord:
      return "records an event";
    case QueueItem::Kind::kWait:
      return "waits for record " + std::to_string(head.record->generation) + " of an event";
    case QueueItem::Kind::kCollective:
      return std::string(head.collective->command.name) + " (" +
             to_string(head.collective->command.site) + "), where " +
             std::to_string(head.collective->arrived) + " of " +
             std::to_string(head.collective->queues.size()) + " members have arrived";
  }
  return {};
}

}  // namespace

void Engine::synchronize(CommandQueue& queue, CallSite site) {
  Lock lock(door_);
  clear_told();
  await_queue(lock, queue, site_or_submitting(site));
}

void Engine::synchronize(const EventPoint& event, CallSite site) {
  Lock lock(door_);
  clear_told();
  if (event.latest != nullptr) {
    wait_for_record(lock, std::shared_ptr(event.latest), site_or_submitting(site));
  } else if (options_.watch != nullptr) {
    saw_without_record(Seen::kHostWaited, event);
  }
}

// While the host waits, other threads may destroy queues and enqueue work: the search begins again
// after each wait.
void Engine::synchronize_device(int device, CallSite site) {
  Lock lock(door_);
  clear_told();
  try_again();
  site = site_or_submitting(site);
  const auto is_busy = [&](const auto& queue) {
    return queue->device() == device && !queue->items_.empty();
  };
  for (;;) {
    while (step_some_queue()) {
    }
    const auto busy = std::ranges::find_if(queues_, is_busy);
    if (busy == queues_.end()) break;
    await_queue(lock, **busy, site);
  }
  for (const auto& queue : queues_) {
    if (queue->device() == device) queue->history_.order_caller();
  }
}

void Engine::promise(EventPoint& event) {
  const Lock lock(door_);
  event.latest = std::make_shared<EventRecord>();
}

void Engine::reach(const EventPoint& event) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  EventRecord& record = *event.latest;
  record.reached = true;
  for (HostWait* wait : record.waiting_hosts) {
    QueueHistory::release(wait);
    complete(*wait, nullptr);
  }
  record.waiting_hosts.clear();
}

bool Engine::query(CommandQueue& queue) {
  const Lock lock(door_);
  require_turn();
  const std::uint64_t last = queue.enqueued_;
  if (!queue.items_.empty()) step_for_query();
  const bool done = queue.items_.empty();
  if (done) queue.history_.order_caller();
  if (options_.watch != nullptr) {
    sim::Observation seen;
    seen.kind = Seen::kQueried;
    seen.done = done;
    saw_host(seen, queue, last, {});
  }
  return done;
}

bool Engine::query(const EventPoint& event) {
  const Lock lock(door_);
  require_turn();
  if (event.latest == nullptr) {
    if (options_.watch != nullptr) saw_without_record(Seen::kQueried, event);
    return true;
  }
  if (!event.latest->reached) step_for_query();
  const bool done = event.latest->reached;
  if (done) QueueHistory::acquire(event.latest.get());
  if (options_.watch != nullptr) {
    sim::Observation seen;
    seen.kind = Seen::kQueried;
    seen.done = done;
    saw_host(seen, *event.latest, {});
  }
  return done;
}

// A host that repeats its question must hear that the question has no effect.
void Engine::step_for_query() {
  if (!is_starved()) {
    step_some_queue();
    return;
  }
  try_again();
  throw std::bad_alloc();
}

void Engine::check_failures() {
  Lock lock(door_);
  clear_told();
  for (const auto& queue : queues_) {
    if (queue->failure_ != nullptr) report(lock, FailurePtr(queue->failure_));
  }
  if (lost_ != nullptr) report(lock, std::exchange(lost_, nullptr));
}

std::string Engine::describe_queues() {
  const Lock lock(door_);
  return queue_lines();
}

// Without an observer, `queue` may be destroyed during the wait.
void Engine::await_queue(Lock& lock, CommandQueue& queue, CallSite site) {
  const Operation operation =
      wait_operation(queue.enqueued_, static_cast<std::uint64_t>(queue.number()), site);
  const bool replica = on_replica();
  try_again();
  HostWait wait;
  if (queue.items_.empty()) {
    queue.history_.queue_releases(&wait);
    complete(wait, queue.failure_);
  } else {
    queue.waiting_hosts_.emplace_back(queue.enqueued_, &wait);
  }
  const std::uint64_t last = queue.enqueued_;
  const auto saw = [&](Seen kind, bool failed) {
    if (options_.watch != nullptr) saw_host(wait_seen(kind, failed), queue, last, site);
  };
  saw(Seen::kHostWaits, false);
  try {
    await(lock, wait, replica, operation);
  } catch (...) {
    if (!lock.held()) lock.lock();
    forget(wait);
    saw(Seen::kHostWaited, true);
    throw;
  }
  saw(Seen::kHostWaited, false);
}

void Engine::wait_for_record(Lock& lock, const std::shared_ptr<EventRecord>& record,
                             CallSite site) {
  const bool replica = on_replica();
  try_again();
  HostWait wait;
  if (record->reached) {
    QueueHistory::acquire(record.get());
    complete(wait, untold(record->failure));
  } else {
    record->waiting_hosts.push_back(&wait);
  }
  const auto saw = [&](Seen kind, bool failed) {
    if (options_.watch != nullptr) saw_host(wait_seen(kind, failed), *record, site);
  };
  saw(Seen::kHostWaits, false);
  try {
    await(lock, wait, replica, wait_operation(record->generation, ~std::uint64_t{0}, site));
  } catch (...) {
    // After a deadlock the record may still be reached, but the wait is gone.
    if (!lock.held()) lock.lock();
    std::erase(record->waiting_hosts, &wait);
    forget(wait);
    saw(Seen::kHostWaited, true);
    throw;
  }
  saw(Seen::kHostWaited, false);
}

// Returns with the lock held and `wait` done, or throws the failure.
void Engine::await(Lock& lock, HostWait& wait, bool on_replica, const Operation& operation) {
  if (on_replica) {
    if (wait.done) {
      lock.unlock();
      executor_->step(operation);
      lock.lock();
    } else {
      wait.parked = true;
      lock.unlock();
      try {
        executor_->block_until(operation, wait.gate);
      } catch (const ReplicaCancelled&) {
        // No agent can move: the error describes the heads of the queues.
        lock.lock();
        forget(wait);
        if (!wait.done && ready_.empty()) std::rethrow_exception(deadlock(operation.site));
        throw;
      }
      lock.lock();
    }
  } else {
    note(operation);
    await_running(lock, wait, operation.site);
  }
  QueueHistory::acquire(&wait);
  if (wait.failure != nullptr) report(lock, FailurePtr(wait.failure));
}

void Engine::await_running(Lock& lock, HostWait& wait, CallSite site) {
  StallWatch* const watch = stall_watch();
  while (!wait.done) {
    if (step_some_queue()) {
      if (watch != nullptr) watch->count_move();
      continue;
    }
    if (is_starved()) {
      progress_.notify_all();  // The others find out for themselves.
      throw std::bad_alloc();
    }
    running_waits_.push_back(&wait);
    if (!options_.threads || !others_may_enqueue()) {
      fail_waits(site);
    } else {
      lock.wait(progress_);
    }
    std::erase(running_waits_, &wait);
  }
}

// Whether host threads may enqueue work while all of `running_waits_` wait.
bool Engine::others_may_enqueue() const {
  if (enqueuing_ > 0 || static_cast<int>(running_waits_.size()) < host_threads_) return true;
  return unclaimed_ > 0 && !is_only_thread();
}

// Nothing can run, and no host is left to enqueue work: all waiting hosts get the failure.
void Engine::fail_waits(CallSite site) {
  FailurePtr failure = last_resort_;
  try {
    failure = std::make_shared<Failure>(Failure{deadlock(site)});
  } catch (const std::bad_alloc&) {  // The others have to learn of it all the same.
  }
  while (!running_waits_.empty()) {
    HostWait& wait = *running_waits_.back();
    forget(wait);
    complete(wait, failure);
  }
}

// Takes an ended wait off the queues, and out of the waiting hosts.
void Engine::forget(const HostWait& wait) {
  std::erase(running_waits_, &wait);
  for (const auto& queue : queues_) {
    std::erase_if(queue->waiting_hosts_, [&](const auto& other) { return other.second == &wait; });
  }
}

void Engine::complete(HostWait& wait, const FailurePtr& failure) {
  wait.done = true;
  wait.failure = failure;
  if (wait.parked) executor_->open(wait.gate);
  // The wait's thread may still sleep, but no longer counts as waiting.
  std::erase(running_waits_, &wait);
  progress_.notify_all();
}

// Moves every queue past all work enqueued before the failure became known, for none of it may be
// skipped later. Makes the queues usable again, on a replica only the queues of the failed device:
// the work that other devices skip until then must not depend on the time of the replica's turn.
void Engine::report(Lock& lock, const FailurePtr& failure) {
  while (step_some_queue()) {
  }
  failure->told = true;
  if (among_replicas()) {
    for (const auto& queue : queues_) {
      if (queue->device() == failure->device) queue->clear_failure();
    }
    told_on_replica_ = true;
  } else {
    clear_failures();
  }
  lock.unlock();
  std::rethrow_exception(failure->exception);
}

std::exception_ptr Engine::deadlock(CallSite site) const {
  return std::make_exception_ptr(DeviceError(
      ErrorCode::kDeadlock, "the host waits, and no stream can run:\n" + queue_lines(),
      "every member of a collective must be enqueued, in the same order on all streams", site));
}

std::string Engine::queue_lines() const {
  std::vector<const CommandQueue*> queues;
  for (const auto& queue : queues_) {
    if (!queue->items_.empty()) queues.push_back(queue.get());
  }
  std::ranges::sort(queues, {}, [](const CommandQueue* queue) { return queue->number(); });
  std::string text;
  for (const CommandQueue* queue : queues) {
    text += "  " + to_string(queue->agent());
    if (!queue->label().empty()) text += " (" + queue->label() + ")";
    text += ": " + head_text(queue->items_.front()) + "; " +
            std::to_string(queue->items_.size() - 1) + " more behind it\n";
  }
  return text;
}

}  // namespace belfry::engine
