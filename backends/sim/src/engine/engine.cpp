// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"

#include <algorithm>
#include <new>
#include <utility>

namespace belfry::engine {
namespace {

Operation host_operation(OperationKind kind, std::uint64_t subject, const CommandQueue& queue) {
  Operation operation;
  operation.kind = kind;
  operation.subject = subject;
  operation.value = static_cast<std::uint64_t>(queue.number());
  return operation;
}

// The next command of `queue`.
Operation enqueuing(const Command& command, const CommandQueue& queue, std::uint64_t number) {
  Operation operation = host_operation(OperationKind::kEnqueue, number, queue);
  operation.site = command.site;
  operation.name = command.name;
  return operation;
}

using Seen = sim::Observation::Kind;

// Reserves memory: `list` may then have `count` elements without an allocation. Throws:
// std::bad_alloc.
template <class T>
void make_room(std::vector<T>& list, std::size_t count) {
  if (count > list.capacity()) list.reserve(std::max(count, 2 * list.capacity()));
}

}  // namespace

CallSite site_or_submitting(const CallSite& site) {
  return site.empty() ? detail::submitting_site() : site;
}

void EngineDoor::refuse() {
  throw ContextError(
      ErrorCode::kStrategyBusy,
      "another thread uses this backend, whose carrier is for one thread at a time",
      "let the threads take turns, give each a backend of its own, or use the concurrent carrier");
}

Engine::Engine(const EngineOptions& options)
    : options_(options),
      door_(options.threads),
      names_candidates_(options.chooser != nullptr && options.chooser->wants_candidates()) {
  check(options.chooser != nullptr, "an engine has a chooser");
  last_resort_ = std::make_shared<Failure>(Failure{std::make_exception_ptr(std::bad_alloc())});
}

Engine::~Engine() = default;

void Engine::attach(Executor* executor) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  executor_ = executor;
}

void Engine::attach_concurrent(Executor* executor) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  concurrent_ = executor;
}

void Engine::set_host_threads(int count) {
  const Lock lock(door_);
  host_threads_ = count;
  progress_.notify_all();
}

void Engine::change_host_threads(int change) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  host_threads_ += change;
  progress_.notify_all();
}

void Engine::change_unclaimed(int change) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  unclaimed_ += change;
  progress_.notify_all();
}

Engine::Enqueuing::Enqueuing(Engine& engine) : engine_(engine) {
  const Lock lock(engine_.door_);
  ++engine_.enqueuing_;
}

// Waiting hosts look again: the enqueued work may be less than their need.
Engine::Enqueuing::~Enqueuing() {
  const Lock lock(engine_.door_, Lock::Entry::kOrWait);
  --engine_.enqueuing_;
  engine_.progress_.notify_all();
}

CommandQueue& Engine::create_queue(QueueOptions options) {
  const Lock lock(door_);
  auto queue =
      std::make_unique<CommandQueue>(options.device, options.number, std::move(options.label));
  queue->slot_ = queues_.size();
  queue->keep_spare();
  ready_.make_room(queues_.size() + 1);
  make_room(to_advance_, queues_.size() + 1);
  make_room(advancing_, queues_.size() + 1);
  make_room(items_, queues_.size() + 1);
  make_room(candidates_, queues_.size() + 1);
  queues_.push_back(std::move(queue));
  return *queues_.back();
}

void Engine::destroy_queue(CommandQueue& queue) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  queue.closed_ = true;
  if (queue.items_.empty()) erase_queue(queue);
}

void Engine::enqueue(CommandQueue& queue, Command command) {
  Lock lock(door_);
  clear_told();
  command.site = site_or_submitting(command.site);
  command.replica = detail::current_replica_id();
  prepare(queue, command);
  QueueItem item;
  item.kind = QueueItem::Kind::kWork;
  item.command = std::make_unique<const Command>(std::move(command));
  announce(lock, enqueuing(*item.command, queue, queue.enqueued_ + 1));
  QueueHistory::release(item.command.get());
  append(queue, std::move(item));
  if (options_.watch != nullptr) {
    CommandQueue* const queues[] = {&queue};
    saw_work(Seen::kSubmitted, queues, *queue.items_.back().command);
  }
  begin(queue);
  run_some();
}

void Engine::record(CommandQueue& queue, EventPoint& event) {
  const Lock lock(door_);
  require_turn();
  clear_told();
  auto record = std::make_shared<EventRecord>();
  record->generation = event.latest == nullptr ? 1 : event.latest->generation + 1;
  record->event = event.name;
  note(host_operation(OperationKind::kRecord, record->generation, queue));
  QueueItem item;
  item.kind = QueueItem::Kind::kRecord;
  item.record = record;
  QueueHistory::release(record.get());
  append(queue, std::move(item));
  // Hosts that wait for the event wait for this record, which will be reached now.
  event.latest = std::move(record);
  if (options_.watch != nullptr) saw_item(Seen::kRecorded, queue, event.latest.get());
  begin(queue);
}

void Engine::wait(CommandQueue& queue, const EventPoint& event) {
  const Lock lock(door_);
  require_turn();
  clear_told();
  if (event.latest == nullptr) {
    note(host_operation(OperationKind::kWait, 0, queue));
    if (options_.watch != nullptr) saw_without_record(Seen::kWaitQueued, event);
    return;
  }
  note(host_operation(OperationKind::kWait, event.latest->generation, queue));
  QueueItem item;
  item.kind = QueueItem::Kind::kWait;
  item.record = event.latest;
  queue.keep_spare();
  if (!item.record->reached) make_room(item.record->waiting_queues, ++item.record->waits);
  append(queue, std::move(item));
  if (options_.watch != nullptr) saw_item(Seen::kWaitQueued, queue, event.latest.get());
  begin(queue);
}

void Engine::join(CommandQueue& queue, const CollectivePtr& collective, std::size_t member) {
  Lock lock(door_);
  clear_told();
  check(collective->queues.at(member) == nullptr, "a member joins a collective once");
  prepare(queue, collective->command);
  collective->command.site = site_or_submitting(collective->command.site);
  announce(lock, enqueuing(collective->command, queue, queue.enqueued_ + 1));
  QueueItem item;
  item.kind = QueueItem::Kind::kCollective;
  item.collective = collective;
  QueueHistory::release(collective.get());
  append(queue, std::move(item));
  collective->queues[member] = &queue;
  if (options_.watch != nullptr) {
    saw_work(Seen::kSubmitted, {&collective->queues[member], 1}, collective->command);
  }
  begin(queue);
  run_some();
}

void Engine::enqueue_together(std::span<CommandQueue* const> queues, Command command) {
  Lock lock(door_);
  clear_told();
  if (queues.empty()) return;
  command.site = site_or_submitting(command.site);
  const auto collective = std::make_shared<Collective>(queues.size());
  collective->command = std::move(command);
  collective->queues.assign(queues.begin(), queues.end());
  for (CommandQueue* queue : queues) prepare(*queue, collective->command);
  const auto enqueues = [&](CommandQueue& queue) {
    return enqueuing(collective->command, queue, queue.enqueued_ + 1);
  };
  // A single operation of the host, though announced for each queue.
  announce(lock, enqueues(*queues.front()));
  for (CommandQueue* queue : queues.subspan(1)) note(enqueues(*queue));
  QueueHistory::release(collective.get());
  append_to_all(queues, collective);
  if (options_.watch != nullptr) saw_work(Seen::kSubmitted, queues, collective->command);
  for (CommandQueue* queue : queues) begin(*queue);
  run_some();
}

// Without the lock in usual runs. A report on a replica comes before the end of the run.
void Engine::forget_told() {
  detail::require_no_kernel();
  if (!told_on_replica_.load(std::memory_order_relaxed)) return;
  const Lock lock(door_);
  clear_told();
}

void Engine::clear_failures() {
  for (const auto& queue : queues_) queue->clear_failure();
  lost_ = nullptr;
  told_on_replica_ = false;
}

// The rest of a report on a replica, after the end of all replicas.
void Engine::clear_told() {
  if (!told_on_replica_ || among_replicas()) return;
  while (step_some_queue()) {
  }
  clear_failures();
}

// Needs no memory. An item may own more than memory, and ends with the engine free.
void Engine::discard() {
  const auto has_items = [](const auto& queue) { return !queue->items_.empty(); };
  for (bool found = true; found;) {
    QueueItem item;
    const Lock lock(door_, Lock::Entry::kOrWait);
    while (!ready_.empty()) ready_.take(0);
    const auto busy = std::ranges::find_if(queues_, has_items);
    found = busy != queues_.end();
    if (!found) return;
    CommandQueue& queue = **busy;
    item = std::move(queue.items_.front());
    queue.items_.pop_front();
    if (queue.closed_ && queue.items_.empty()) erase_queue(queue);
  }
}

void Engine::tell(const Operation& operation) {
  const Lock lock(door_);
  require_turn();
  note(operation);
}

void Engine::made(const Allocation& allocation) {
  if (options_.watch == nullptr) return;
  const Lock lock(door_);
  const Footprint whole{allocation.resource(), 0, allocation.bytes(), AccessMode::kWrite};
  sim::Observation seen;
  seen.kind = Seen::kAllocated;
  seen.footprints = {&whole, 1};
  tell_host(seen, {});
}

sim::EventName Engine::name_event() {
  return options_.watch == nullptr ? sim::EventName{} : options_.watch->name_event();
}

std::uint32_t Engine::runnable() {
  // Executors call this function at every turn.
  if (options_.threads) return runnable_of_threads();
  return is_starved() ? 0 : ready_.size();
}

std::uint32_t Engine::runnable_of_threads() {
  const Lock lock(door_);
  return is_starved() ? 0 : ready_.size();
}

void Engine::run(std::uint32_t which) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  if (which < ready_.size()) step(ready_.take(which));
}

AgentId Engine::agent(std::uint32_t which) {
  const Lock lock(door_, Lock::Entry::kOrWait);
  return which < ready_.size() ? ready_.at(which).agent() : AgentId{};
}

// Reserves the memory for the command's failure and for its announcement.
void Engine::prepare(CommandQueue& queue, const Command& command) {
  try_again();
  queue.keep_spare();
  make_room(footprints_, command.reads.size() + command.writes.size());
}

void Engine::append(CommandQueue& queue, QueueItem item) {
  check(!queue.closed_, "a destroyed queue gets no commands");
  queue.items_.push_back(std::move(item));
  ++queue.enqueued_;
}

// All members or none: a collective without some members would hold up the queues of the rest.
void Engine::append_to_all(std::span<CommandQueue* const> queues, const CollectivePtr& collective) {
  std::size_t appended = 0;
  try {
    for (; appended < queues.size(); ++appended) {
      QueueItem item;
      item.kind = QueueItem::Kind::kCollective;
      item.collective = collective;
      append(*queues[appended], std::move(item));
    }
  } catch (...) {
    for (CommandQueue* queue : queues.first(appended)) {
      queue->items_.pop_back();
      --queue->enqueued_;
    }
    throw;
  }
}

void Engine::begin(CommandQueue& queue) {
  if (queue.items_.size() == 1) {
    advance(queue);
    settle();
    // A host that sleeps for want of work may be the last host that can run the new work.
    if (!running_waits_.empty()) progress_.notify_all();
  }
  while (queue.items_.size() > options_.queue_limit && step_some_queue()) {
  }
}

void Engine::erase_queue(CommandQueue& queue) {
  if (lost_ == nullptr) lost_ = queue.failure_;
  const std::size_t slot = queue.slot_;
  std::swap(queues_[slot], queues_.back());
  queues_[slot]->slot_ = slot;
  queues_.pop_back();
}

void Engine::announce(Lock& lock, const Operation& operation) {
  if (!on_replica()) return note(operation);
  lock.unlock();
  executor_->step(operation);
  lock.lock();
}

void Engine::note(const Operation& operation) {
  if (options_.sink != nullptr) options_.sink->on_operation(operation);
}

}  // namespace belfry::engine
