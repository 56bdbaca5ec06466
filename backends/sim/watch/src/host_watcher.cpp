// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watcher.h"

#include "long_vectors.h"
#include "pointer_calls.h"
#include "unseen_calls.h"

#include <sys/single_threaded.h>

#include <algorithm>

extern "C" {
unsigned char belfry_watch_inside = 0;
unsigned char belfry_watch_counts = 0;
unsigned char belfry_watch_active = 0;
}

namespace belfry::sim::watch {

constinit thread_local char place_of_thread = 0;

namespace {

// A function that calls itself in two ways has as many places as calls.
constexpr std::size_t kMostPlaces = std::size_t{1} << 18;
constexpr std::uintptr_t kMostStack = std::uintptr_t{8} << 20;  // Of a thread.

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

constinit HostWatcher* made_host_watcher = nullptr;

// Instrumented code runs before main and after main.
HostWatcher& make_host_watcher() {
  static HostWatcher& watcher = *new HostWatcher;
  made_host_watcher = &watcher;
  return watcher;
}

void HostWatcher::start() {
  // libstdc++ counts owners without atomic operations while a process has a single thread: the
  // counts would look like ordinary memory that replicas share.
  __libc_single_threaded = 0;
  conflicts_.clear();
  kernel_access_.reset();
  merge_reads_.clear();
  paused_.clear();
  shared_.clear();
  accesses_ = 0;
  clocks_.clear();
  seconds_ahead_ = 0;
  used_locks_ = used_atomics_ = shared_last_owner_ = foreign_stack_ = too_many_replicas_ = false;
  second_thread_ = false;
  owner_counts_.clear();
  also_unseen_.clear();
  audit_.begin(false);
  forget_unseen_calls();
  forget_pointer_calls();
  forget_long_vectors();
  thread_ = &place_of_thread;
  run_ = 0;
  leave();
  begin_phase();
  belfry_watch_active = 1;
}

void HostWatcher::set_stack(const void* frame) {
  if (on_fiber_ && number(frame) - stack_low_ < stack_bytes_) return;
  const detail::MemoryRange fiber = detail::stack_around(frame);
  on_fiber_ = fiber.low != nullptr;
  if (on_fiber_) {
    stack_low_ = number(fiber.low);
    stack_bytes_ = number(fiber.high) - stack_low_;
    const detail::MemoryRange all = detail::all_stacks();
    stacks_low_ = number(all.low);
    stacks_bytes_ = number(all.high) - stacks_low_;
  } else {
    // The stack of a thread: a function that the caller of `enter` calls next has its frame here.
    constexpr std::uintptr_t kCall = 2 * sizeof(void*);
    stack_low_ = number(frame) - kMostStack;
    stack_bytes_ = kMostStack + kCall;
  }
}

void HostWatcher::enter(const Actor& actor, const void* frame) {
  if (belfry_watch_active == 0 || note_thread()) return;
  leave();
  if (actor.agent.kind == AgentId::Kind::kStream) return;
  actor_ = actor;
  const auto [paused, is_new] = paused_.try_emplace(actor);
  context_ = paused->second.context;
  ignoring_ = paused->second.ignoring;
  skipped_calls_ = paused->second.skipped_calls;
  is_verb_ = paused->second.is_verb;
  if (actor.agent.kind == AgentId::Kind::kHost) return enter_host();
  if (actor.agent.kind == AgentId::Kind::kMerge) return enter_merge();
  join_phase();
  set_stack(frame);
  if (audit_.is_on()) audit_.begin_slice(to_string(actor_));
  mode_ = Mode::kReplica;
  belfry_watch_inside = belfry_watch_counts = 1;
}

void HostWatcher::enter_merge() {
  mode_ = Mode::kMerge;
  belfry_watch_inside = shared_.empty() ? 0 : 1;
  // A verb reads what replicas have passed, and notes are about captured values alone.
  belfry_watch_counts = is_verb_ && shared_.empty() ? 0 : 1;
  on_fiber_ = false;
  stack_bytes_ = 0;
}

void HostWatcher::begin_merge(bool is_verb) {
  if (mode_ != Mode::kMerge || note_thread()) return;
  is_verb_ = is_verb;
  enter_merge();
}

void HostWatcher::join_phase() {
  if (phase_of_replicas_ == phase_ && actor_.run != run_) ++phase_;
  if (phase_of_replicas_ != phase_) {
    phase_of_replicas_ = phase_;
    phases_before_replicas_ = phases_;
    run_ = actor_.run;
    entered_.clear();
    agents_ = 0;
    id_mask_ = 0xFFFF;
    maker_ = made_ = 0;
    makings_.clear();
    known_by_.clear();
  }
  const auto id = static_cast<Agent>(actor_.agent.index + 1);
  if (entered_.size() <= id) entered_.resize(id + 1UL);
  if (!entered_[id]) ++agents_;
  entered_[id] = true;
  too_many_replicas_ |= id > id_mask_;
  set_agent(id);
}

void HostWatcher::set_agent(Agent id) {
  id_ = id;
  agent_ = id;
  known_ = 0;
  if (maker_ == 0) return;
  if (id == maker_) agent_ = static_cast<Agent>(id | made_ << kIdBits);
  const auto known = known_by_.find(id);
  if (known != known_by_.end()) known_ = known->second;
}

// A phase has a single maker: the first replica that takes part. Without room for a number, later
// accesses of the maker are like earlier accesses, and the making orders nothing.
void HostWatcher::make_variable(std::uint32_t number) {
  if (mode_ != Mode::kReplica || entered_.size() > kIds + 1UL) return;
  if (maker_ == 0) maker_ = id_;
  if (maker_ != id_) return;
  id_mask_ = kIds;
  if (made_ < kMostMade) ++made_;
  makings_[number] = made_ < kMostMade ? made_ : 0;
  set_agent(id_);
}

void HostWatcher::take_variable(std::uint32_t number) {
  const auto making = makings_.find(number);
  if (mode_ != Mode::kReplica || making == makings_.end()) return;
  Agent& known = known_by_[id_];
  known = std::max(known, making->second);
  set_agent(id_);
}

void HostWatcher::leave() {
  if (note_thread()) return;
  if (mode_ == Mode::kMerge) end_merge();
  if (mode_ == Mode::kReplica && audit_.is_on()) audit_.end_slice(to_string(actor_));
  if (mode_ == Mode::kBody) {
    leave_body();
  } else if (mode_ != Mode::kIdle) {
    paused_[actor_] = {context_, skipped_calls_, ignoring_, is_verb_};
  }
  mode_ = Mode::kIdle;
  belfry_watch_inside = belfry_watch_counts = 0;
  ignoring_ = 0;
}

void HostWatcher::begin_phase() {
  if (note_thread()) return;
  if (mode_ == Mode::kMerge) end_merge();
  if (mode_ != Mode::kReplica) audit_.begin_run();
  audit_.begin_phase();
  ended_.give_back();
  shared_counts_.clear();
  ++phase_;
  ++phases_;
  if (mode_ == Mode::kReplica) join_phase();
}

void HostWatcher::end_merge() {
  if (!merge_reads_.empty()) merge_reads_.end_merge(agents_);
}

Actor HostWatcher::replica(Agent agent) const {
  return {{AgentId::Kind::kReplica, (agent & id_mask_) - 1}, run_};
}

void HostWatcher::call(const void* return_address) noexcept {
  if (note_thread()) return;
  if (mode_ == Mode::kBody) ++seen_of_body_;
  if (skipped_calls_ == 0) {
    const std::uint32_t code = code_of(return_address);
    const bool is_full = tree_.size() > kMostPlaces;
    const Place place = is_full ? tree_.find(context_, code) : tree_.child(context_, code);
    if (place != CallTree::kRoot) {
      context_ = place;
      return;
    }
  }
  ++skipped_calls_;
}

void HostWatcher::return_from_call() noexcept {
  if (is_other_thread()) return;
  if (skipped_calls_ > 0) {
    --skipped_calls_;
  } else {
    context_ = tree_.at(context_).parent;
  }
}

// The answers of a clock never go back.
long HostWatcher::ask_clock(const char* clock) noexcept {
  constexpr long kHour = 3600;
  if (belfry_watch_active == 0 || note_thread()) return 0;
  clocks_.insert(clock);
  return seconds_ahead_ += kHour;
}

void HostWatcher::forget(const void* memory, std::size_t bytes) noexcept {
  shadow_.forget(number(memory), bytes);
  blocks_.add(memory, bytes);
}

void HostWatcher::touched(const void* memory, std::size_t bytes, bool writes,
                          const CallSite& site) noexcept {
  if (belfry_watch_counts == 0) return;
  access(memory, bytes, {.writes = writes, .maker = Maker::kLibrary, .site = &site});
}

// A std::shared_ptr of libstdc++ is two pointers. The second points to an object with the count of
// owners after the pointer to the table of its type.
void HostWatcher::asks_for_owners(const void* pointer) noexcept {
  if (belfry_watch_counts == 0) return;
  const char* const counts = static_cast<const char* const*>(pointer)[1];
  access(counts + sizeof(void*), sizeof(int), {.writes = false, .maker = Maker::kAtomic});
}

}  // namespace belfry::sim::watch
