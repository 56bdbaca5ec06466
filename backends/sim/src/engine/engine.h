// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/executor.h"
#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "engine/command.h"
#include "engine/command_queue.h"
#include "engine/digest.h"
#include "engine/engine_lock.h"
#include "engine/watch.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::engine {

struct EngineOptions {
  Chooser* chooser = nullptr;                    ///< Makes every choice; required.
  OperationSink* sink = nullptr;                 ///< Sees every operation; may be null.
  Watch* watch = nullptr;                        ///< Tells an observer; may be null.
  DigestExtent digest = DigestExtent::kSampled;  ///< The share of written data for the sink.
  bool check_initialised = true;                 ///< Report reads of bytes nobody has written.
  /// Several threads may be in the engine at a time. Otherwise a second thread gets a ContextError
  /// (kStrategyBusy), if noticed: while the first thread is inside a call.
  bool threads = true;
  /// A longer queue makes its host run commands, like a driver.
  std::size_t queue_limit = 1024;
};

struct QueueOptions {
  int device = 0;
  std::int32_t number = 0;  ///< Unique. The caller's choice: the number depends on no schedule.
  std::string label{};      ///< For messages: `compute stream`.
};

/// `site`, or, if `site` is empty, the site of the call that submits.
CallSite site_or_submitting(const CallSite& site);

/// Queues of commands, and events: the streams of the simulator and of the simulated driver.
///
/// How the engine works. No command runs when enqueued. Commands run when a host call must make
/// progress, or when a schedule gives a queue a turn. The Chooser decides which runnable queue
/// takes the next step. Records, satisfied waits and arrivals at collectives take no step: they
/// pass at the head of their queue.
///
/// A host call waits in two ways. On a replica of a cooperative executor (see `attach`) the replica
/// is suspended, and the executor gives turns to other replicas and, through OtherAgents, to
/// queues. Anywhere else the call runs queues until the call can return.
///
/// A command that fails does not write, and makes its queue fail. Later work of the queue is
/// skipped, and so is all work that waits for events recorded there. The next host wait for skipped
/// work throws the reason; afterwards every queue is usable again. If other replicas run meanwhile,
/// each must hear of its failures in every order of the replicas: a wait on a replica makes only
/// the queues of its device usable, and the next call outside of replicas makes the rest usable.
///
/// A single lock guards the whole engine, and commands run under the lock.
///
/// Memory may run out in any call. The memory of a step is reserved by the call that enqueues the
/// command: room in lists, and a spare failure for each queue. A command without memory stays at
/// the head of its queue, and the queue goes behind the other queues. After many tries without a
/// step between, the engine is starved: no queue is runnable, and waiting hosts get std::bad_alloc,
/// until the next call.
class Engine final : public OtherAgents {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine() override;

  /// Lets host waits on replicas of `executor` suspend the replica. For executors that run a single
  /// replica at a time and give turns to this engine. Null ends the attachment.
  void attach(Executor* executor);
  /// Distinguishes calls on replicas of `executor`, which runs all replicas at once, from other
  /// calls.
  void attach_concurrent(Executor* executor);
  /// Sets the number of host threads that might enqueue work. If as many threads wait, a wait that
  /// no runnable queue can satisfy is a deadlock. 1 at first.
  void set_host_threads(int count);
  /// Adds `change` to the number of host threads that might enqueue work.
  void change_host_threads(int change);
  /// Adds `change` to the number of things with which a thread without a call so far may enqueue.
  /// If the number is not 0, no wait is a deadlock in a process with several threads.
  void change_unclaimed(int change);
  /// During the life of an Enqueuing, its thread is about to enqueue more: waits of other threads
  /// are no deadlock.
  class Enqueuing {
   public:
    explicit Enqueuing(Engine& engine);
    Enqueuing(const Enqueuing&) = delete;
    Enqueuing& operator=(const Enqueuing&) = delete;
    ~Enqueuing();

   private:
    Engine& engine_;
  };

  /// Notes the code that calls the backend, by the address that the call returns to, if there is a
  /// watch: streams, events and communicators take no call site.
  /// `views`: views, and collectives, that the call works on.
  template <class... Views>
  void called_from(const void* return_address, const Views&... views) {
    if (options_.watch == nullptr) return;
    options_.watch->called_by(static_cast<const char*>(return_address) - 1);
    (options_.watch->works_on(views), ...);
  }
  CommandQueue& create_queue(QueueOptions options);
  /// The queue's commands still run; the handle may not be used any more.
  void destroy_queue(CommandQueue& queue);

  void enqueue(CommandQueue& queue, Command command);
  /// Makes the current end of the queue the point of `event`.
  void record(CommandQueue& queue, EventPoint& event);
  /// Later commands of `queue` start after the latest record of `event`; without one, at once.
  void wait(CommandQueue& queue, const EventPoint& event);
  /// Enqueues the part of `member` in a collective. The command must be complete before the last
  /// member joins.
  void join(CommandQueue& queue, const CollectivePtr& collective, std::size_t member);
  /// Enqueues a collective of all `queues` at once; they must differ.
  void enqueue_together(std::span<CommandQueue* const> queues, Command command);
  /// Gives up on a collective: the collective fails with `reason`, also with missing members.
  void abandon(const CollectivePtr& collective, std::exception_ptr reason);

  /// Order: blocks the host until all work enqueued in `queue` by now is done. Throws: the
  /// exception of a command; DeviceError (kDeadlock) listing the head of each queue.
  void synchronize(CommandQueue& queue, CallSite site = {});
  /// Order: blocks the host until the latest record of `event` is reached. Throws: the same.
  void synchronize(const EventPoint& event, CallSite site = {});
  /// Order: blocks the host until no queue of `device` has work. Throws: as `synchronize`.
  void synchronize_device(int device, CallSite site = {});
  /// Makes a record of `event` that no queue reaches. Hosts that wait for the event wait for
  /// `reach`.
  void promise(EventPoint& event);
  /// Order: hosts that wait for the promised record go on.
  void reach(const EventPoint& event);
  /// Waits as `synchronize(queue)` does, then copies `from` to host memory.
  /// Throws: also DeviceError (kUninitialised, kOutOfBounds).
  void read(CommandQueue& queue, void* to, const Access& from, CallSite site = {});
  /// Waits and reads as `read` does, without the copy. The address is valid until a command writes
  /// the allocation.
  const std::byte* view(CommandQueue& queue, const Access& from, CallSite site = {});
  /// The address of bytes of an allocation without commands. The host writes the bytes before the
  /// next call of the engine; they count as written. Throws: std::bad_alloc.
  std::byte* fill(const Access& access);
  /// Waits and reads as `read` does, then gives the allocation a fixed place, for code outside of
  /// the engine: no command uses the allocation from now on. Returns the address of the range.
  std::byte* lend(CommandQueue& queue, const Access& access, CallSite site = {});
  /// Whether all enqueued work is done, or the latest record reached. If not, takes a step first:
  /// repeated questions end. Throws nothing for a failed queue.
  bool query(CommandQueue& queue);
  bool query(const EventPoint& event);
  /// Runs all work that can run, like a host that waits for the whole machine. Throws nothing.
  void drain();
  /// Drops all commands. No host waits, now or later.
  void discard();
  /// Throws the failure of a queue, if any queue has failed, destroyed queues included. All queues
  /// are usable afterwards.
  void check_failures();
  /// If a replica has heard of a failure, makes all queues usable. No replica may run that has yet
  /// to hear of a failure. On a replica: no effect.
  void forget_told();
  /// Announces an operation from outside the engine to the sink.
  void tell(const Operation& operation);
  /// Tells an observer of a new allocation of the caller.
  void made(const Allocation& allocation);
  /// The same of memory of the program as an allocation, or of an allocation as memory of the
  /// program. With `may_watch` a watch of host memory may follow the program's accesses.
  void exchanged(const Allocation& allocation, bool may_watch);
  /// Tells an observer of a copy in place of a write of `queue` to `access`.
  void copies_for_write(const CommandQueue& queue, const Access& access);
  /// Null unless the engine tells an observer.
  Watch* watch() const { return options_.watch; }
  /// Tells an observer of a question of the caller about `what`, which depends on the progress of
  /// all agents. Throws: nothing.
  void asked(std::string_view what);
  /// A name for an event that the caller makes. Throws: std::bad_alloc.
  sim::EventName name_event();
  /// The state of each queue with commands, a line each.
  std::string describe_queues();

  std::uint32_t runnable() override;
  void run(std::uint32_t which) override;
  AgentId agent(std::uint32_t which) override;

 private:
  using Lock = EngineLock;

  static constexpr std::uint32_t kMostTries = 16;

  // Apart, for the usual path needs no stack then.
  [[gnu::noinline]] std::uint32_t runnable_of_threads();

  // engine.cpp: queues and their items. All but `announce` are called with the lock held. `append`
  // throws std::bad_alloc without any change; `begin` throws nothing.
  void prepare(CommandQueue& queue, const Command& command);
  void append(CommandQueue& queue, QueueItem item);
  void append_to_all(std::span<CommandQueue* const> queues, const CollectivePtr& collective);
  void begin(CommandQueue& queue);
  void erase_queue(CommandQueue& queue);
  void clear_failures();
  void clear_told();
  // Throws: ContextError (kStrategyBusy) if threads take turns and another thread's run lasts.
  bool on_replica() const { return executor_ != nullptr && executor_->on_replica(); }
  void require_turn() const { on_replica(); }
  // Announces the host's next operation. On a replica other agents may have a turn first, with the
  // lock released.
  void announce(Lock& lock, const Operation& operation);
  void note(const Operation& operation);
  // Whether other replicas may run during the caller's run, in turns or at once.
  bool among_replicas() const {
    return on_replica() || (concurrent_ != nullptr && concurrent_->on_replica());
  }

  // engine_steps.cpp: how queues get on.
  void advance(CommandQueue& queue);
  void settle();
  bool pass_head(CommandQueue& queue);
  bool arrive(CommandQueue& queue, QueueItem& head);
  void reach(EventRecord& record, CommandQueue& queue);
  void finish_head(CommandQueue& queue, const std::exception_ptr& failure,
                   const FailurePtr& instead);
  bool finish_wait(CommandQueue& queue, FailurePtr failure);
  void finish_wait_of_host(CommandQueue& queue, HostWait& wait, const FailurePtr& failure);
  void step(CommandQueue& queue);
  bool step_work(CommandQueue& queue);
  bool step_collective(const CollectivePtr& collective);
  bool execute(const Command& command, CommandQueue& queue, std::exception_ptr& failure);
  void run_body(const Command& command, CommandQueue& queue);
  const std::vector<Footprint>& footprints_of(const Command& command);
  void note_execution(const CommandQueue& queue, const Command& command,
                      std::span<const Footprint> footprints, std::uint64_t digest,
                      std::size_t members, bool failed);
  std::uint64_t noted_digest_of(OperationKind kind, const Command& command,
                                const CommandQueue& queue, bool failed) const;
  bool step_some_queue();
  std::uint32_t choose_queue();
  bool is_starved() const { return starved_ > kMostTries && starved_ > 2 * ready_.size(); }
  void try_again() { starved_ = 0; }
  // Takes as many steps as the Chooser decides; on a replica the executor asks the Chooser instead.
  void run_some();

  // engine_watch.cpp: observations, if there is a watch. Queues are named by their numbers, and
  // items by position: the host's new item is the last item.
  void tell_host(sim::Observation seen, const CallSite& site);
  void tell_stream(sim::Observation seen, const CommandQueue& queue, std::uint64_t number);
  void saw_work(sim::Observation::Kind kind, std::span<CommandQueue* const> queues,
                const Command& command);
  void saw_begin(const QueueItem& head);
  void saw_end(std::span<CommandQueue* const> queues, const Command& command, bool failed);
  void saw_item(sim::Observation::Kind kind, const CommandQueue& queue, const EventRecord* record);
  void saw_finish(const CommandQueue& queue, bool failed);
  void saw_without_record(sim::Observation::Kind kind, const EventPoint& event);
  void saw_host(sim::Observation seen, const CommandQueue& queue, std::uint64_t number,
                const CallSite& site);
  void saw_host(sim::Observation seen, const EventRecord& record, const CallSite& site);
  void saw_read(const Footprint& footprint, const CallSite& site, bool failed);

  // engine_reads.cpp: bytes for the host.
  std::byte* await_bytes(Lock& lock, CommandQueue& queue, const Access& access, CallSite site);
  void note_read(const Access& access, CallSite site);

  // engine_waits.cpp: hosts that wait.
  void await(Lock& lock, HostWait& wait, bool on_replica, const Operation& operation);
  void await_running(Lock& lock, HostWait& wait, CallSite site);
  bool others_may_enqueue() const;
  void fail_waits(CallSite site);
  void forget(const HostWait& wait);
  void complete(HostWait& wait, const FailurePtr& failure);
  void step_for_query();
  void await_queue(Lock& lock, CommandQueue& queue, CallSite site);
  void wait_for_record(Lock& lock, const std::shared_ptr<EventRecord>& record, CallSite site);
  [[noreturn]] void report(Lock& lock, const FailurePtr& failure);
  std::exception_ptr deadlock(CallSite site) const;
  std::string queue_lines() const;

  const EngineOptions options_;
  EngineDoor door_;
  std::condition_variable progress_;
  Executor* executor_ = nullptr;
  Executor* concurrent_ = nullptr;
  int host_threads_ = 1;
  int enqueuing_ = 0;
  int unclaimed_ = 0;
  std::vector<HostWait*> running_waits_;      // Those of hosts that have nothing to run.
  std::atomic<bool> told_on_replica_{false};  // Queues of other devices may be left to clear.
  std::uint32_t starved_ = 0;                 // Tries without memory since the last step.
  FailurePtr last_resort_;                    // Of steps without memory for a failure.
  FailurePtr lost_;  // The first of a queue that is gone; nobody has been told of it.
  std::vector<std::unique_ptr<CommandQueue>> queues_;
  ReadyList ready_;
  std::vector<CommandQueue*> to_advance_;
  std::vector<CommandQueue*> advancing_;
  std::vector<Footprint> footprints_;   // Reused for each operation.
  std::vector<sim::StreamItem> items_;  // The same, for an observer.
  std::vector<AgentId> candidates_;     // The same, for a Chooser that wants them.
  const bool names_candidates_;
};

}  // namespace belfry::engine
