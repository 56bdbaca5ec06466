// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "audit.h"
#include "belfry/detail/host_accesses.h"
#include "call_tree.h"
#include "conflict_list.h"
#include "ended_blocks.h"
#include "merge_reads.h"
#include "recent_blocks.h"
#include "shadow.h"
#include "shared_memory.h"
#include "watch/run_time.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

extern "C" {
/// Whether a replica runs. Read by the code in front of unwatched functions.
[[gnu::visibility("hidden")]] extern unsigned char belfry_watch_inside;
/// Whether accesses count: a replica or a merge runs. Read by instrumented code.
[[gnu::visibility("hidden")]] extern unsigned char belfry_watch_counts;
/// Whether a watch goes on. Read by the functions that hand memory out.
[[gnu::visibility("hidden")]] extern unsigned char belfry_watch_active;
}

namespace belfry::sim::watch {

/// An access, as the instrumented code reports it.
struct Access {
  bool writes = false;
  const void* pc = nullptr;  ///< The instruction after the access or call.
  Maker maker = Maker::kCode;
  const CallSite* site = nullptr;    ///< Of kLibrary.
  bool releases_last_owner = false;  ///< Of counts of owners.
};

/// Each thread has an address of its own.
[[gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern constinit thread_local char place_of_thread;

/// The state of the watch. The process has one, see host_watcher().
class HostWatcher final : public RunTime, public detail::HostAccesses {
 public:
  void start() override;
  void start_audit() override { audit_.begin(true); }
  void enter(const Actor& actor, const void* frame) override;
  void enter_body(const KernelBody& body, const void* frame) override;
  LaunchFacts launch_of(const Actor& launcher, const void* kernel) override;
  void leave() override;
  void begin_phase() override;
  void begin_merge(bool is_verb) override;
  void make_variable(std::uint32_t number) override;
  void take_variable(std::uint32_t number) override;
  bool share(const std::byte* memory, std::size_t bytes, const Actor& actor) override;
  std::vector<SharedAccess> take_shared() override;
  HostReport stop() override;
  CallSite source_site(const void* pc) override;

  void touched(const void* memory, std::size_t bytes, bool writes,
               const CallSite& site) noexcept override;
  void asks_for_owners(const void* pointer) noexcept override;
  // Of a body that no stream runs, the accesses do not count.
  void kernel_begins() noexcept override { ignore(true); }
  void kernel_ended() noexcept override { ignore(false); }

  /// Notes an access of the current agent. Throws: nothing that instrumented code could expect;
  /// ends the program without memory.
  void access(const void* memory, std::size_t bytes, const Access& access) noexcept;
  /// Calls and returns of watched functions.
  void call(const void* return_address) noexcept;
  void return_from_call() noexcept;
  /// Begins and ends code with accesses of no interest.
  void ignore(bool begin) noexcept {
    if (!note_thread()) ignoring_ += begin ? 1 : -1;
  }
  /// Whether the caller is a second thread, which is noted: watched code of a second thread may
  /// touch any memory, at any time.
  bool note_thread() noexcept {
    const bool is_second = is_other_thread();
    if (is_second) [[unlikely]]
      second_thread_ = true;
    return is_second;
  }
  /// A thread begins. The thread may run code that is not watched.
  void begin_thread() noexcept { second_thread_ = true; }
  /// Adds a reason why accesses of the current replica may be missing.
  void note_unseen(const char* reason) { also_unseen_.insert(reason); }
  /// Notes that watched code asks `clock`. Returns the seconds by which the answer is ahead.
  long ask_clock(const char* clock) noexcept;
  /// The seconds by which the last answer of a clock was ahead.
  long seconds_ahead() const noexcept { return seconds_ahead_; }
  /// A replica or a body uses a lock, if one runs.
  void note_lock() noexcept { used_locks_ |= belfry_watch_inside != 0; }
  Audit& audit() { return audit_; }
  /// The number of places so far.
  std::size_t places() const { return tree_.size(); }
  /// The bytes are a new object's.
  void forget(const void* memory, std::size_t bytes) noexcept;
  /// The current replica ends a block of memory, at `pc`. Returns a block to give back now: a block
  /// that ended before, or null.
  void* release(void* block, std::size_t bytes, const void* pc) noexcept;

 private:
  // In the mode kHost, code outside runs has accesses to shared memory.
  enum class Mode : std::uint8_t { kIdle, kReplica, kMerge, kBody, kHost };
  /// The state of an agent that pauses.
  struct Paused {
    Place context = CallTree::kRoot;
    std::size_t skipped_calls = 0;
    int ignoring = 0;
    bool is_verb = false;
  };

  bool is_other_thread() const { return &place_of_thread != thread_; }
  void enter_merge();
  void join_phase();
  void set_agent(Agent id);
  Agents strangers(Agents agents) const;
  Agents earlier(Agents agents) const;
  void set_stack(const void* frame);
  void set_stack_of_body(const void* frame);
  void leave_body();
  void enter_host();
  void note_shared(std::uintptr_t at, std::size_t bytes, const Access& access);
  bool is_of_body(std::uintptr_t address, const Access& access);
  void access_of_body(std::uintptr_t at, std::size_t bytes, Access access);
  void audit_access(std::uintptr_t at, std::size_t bytes, const Access& access);
  bool is_on_a_stack(std::uintptr_t address);
  Place place_of(const Access& access);
  Place place_of_library(const Access& access);
  bool mark_word(Granule& granule, const Access& access, Place& place);
  void mark_all(std::uintptr_t at, std::size_t bytes, const Access& access);
  void mark(Granule& granule, std::uintptr_t address, Agents lanes, const Access& access);
  void mark_own(Marks& marks, Agents lanes, const Access& access);
  void mark_write(Granule& granule, std::uintptr_t address, Agents lanes, const Access& access);
  void mark_read(Granule& granule, std::uintptr_t address, Agents lanes, const Access& access);
  void note_merge(Granule& granule, std::uintptr_t address, Agents lanes, const Access& access);
  void clash(const Marks& marks, bool written, Agents lanes, std::uintptr_t address,
             const Access& access);
  void end_merge();
  Actor replica(Agent agent) const;
  HostAccess resolved(const PlacedAccess& access);
  bool counts_owners() const;
  std::vector<HostConflict> resolved(const std::vector<ConflictList::Pair>& pairs);
  std::vector<std::string> unseen(HostReport& report);

  Shadow shadow_;
  SharedMemory shared_;
  CallTree tree_;
  std::vector<CallSite> sites_;
  ConflictList conflicts_;
  MergeReads merge_reads_;
  std::map<Actor, Paused> paused_;

  Audit audit_;
  RecentBlocks blocks_;
  EndedBlocks ended_;
  KernelBody body_{};                // In the mode kBody,
  std::uint64_t blocks_before_ = 0;  // the number of blocks at its begin,
  std::uint64_t seen_of_body_ = 0;   // the number of its accesses and calls,
  bool marks_body_ = false;          // and whether its accesses are those of its launcher.
  std::optional<KernelAccess> kernel_access_;
  PlacedAccess kernel_place_;

  Mode mode_ = Mode::kIdle;
  int ignoring_ = 0;
  const char* thread_ = nullptr;  // The address of place_of_thread.
  Actor actor_{};
  Agent agent_ = 0;  // With the number of variables that the agent has made,
  Agent id_ = 0;     // without the number,
  Agent known_ = 0;  // and the number of variables of the maker that are known to the agent.
  Place context_ = CallTree::kRoot;
  std::size_t skipped_calls_ = 0;  // Inside the context, and without a place of their own.
  bool is_verb_ = false;           // Of the merge.
  bool on_fiber_ = false;
  std::uintptr_t stack_low_ = 0;
  std::uintptr_t stack_bytes_ = 0;
  std::uintptr_t stacks_low_ = 0;  // Of all fibers.
  std::uintptr_t stacks_bytes_ = 0;

  std::uint32_t phase_ = 1;
  std::uint32_t phase_of_replicas_ = 0;       // The last with a replica,
  std::uint32_t run_ = 0;                     // and the run of the phase,
  std::uint32_t phases_ = 0;                  // the calls of begin_phase, and
  std::uint32_t phases_before_replicas_ = 0;  // those before the last phase with a replica,
  std::vector<bool> entered_;                 // and the agents of the phase.
  std::size_t agents_ = 0;
  Agent id_mask_ = 0xFFFF;                  // kIds in a phase with a maker of variables.
  Agent maker_ = 0;                         // The id of the maker,
  Agent made_ = 0;                          // the number of variables so far,
  std::map<std::uint32_t, Agent> makings_;  // the number at the making of each,
  std::map<Agent, Agent> known_by_;         // and the number that each agent knows of.
  bool too_many_replicas_ = false;

  long seconds_ahead_ = 0;
  std::set<std::string> clocks_;

  std::uint64_t accesses_ = 0;
  bool used_locks_ = false;
  bool used_atomics_ = false;
  bool shared_last_owner_ = false;
  std::set<const void*> owner_counts_;       // Places of changes, of counts that replicas share.
  std::set<std::uintptr_t> shared_counts_;   // In the phase: counts that two replicas change.
  std::atomic<bool> second_thread_ = false;  // Second threads write, too.
  bool foreign_stack_ = false;
  std::set<std::string> also_unseen_;
};

/// Makes the watcher of the process, which lives for ever.
HostWatcher& make_host_watcher();
[[gnu::visibility("hidden")]] extern constinit HostWatcher* made_host_watcher;
/// The watcher of the process.
inline HostWatcher& host_watcher() {
  return made_host_watcher != nullptr ? *made_host_watcher : make_host_watcher();
}

/// Any use makes a linker take the functions that hand memory out from the archive.
extern const int kAllocationCalls;
/// The same for the function that begins threads.
extern const int kThreadCalls;

}  // namespace belfry::sim::watch
