// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Bodies of users' kernels. A stream runs a body at any time after the launch and before the end of
// a wait of the host. Accesses of a second replica in the phase of the launch have no order with
// the body: the marks of the body are those of the launcher. The marks of a phase are there until a
// replica is in a later phase. After a making, bodies of the maker have no marks: a wait of the
// maker may have ordered them before the making. Of all other accesses nothing is known, and the
// report has the first access of a body to memory that others may use.
#include "constants.h"
#include "host_watcher.h"

#include <algorithm>
#include <string>

namespace belfry::sim::watch {

LaunchFacts HostWatcher::launch_of(const Actor& launcher, const void* kernel) {
  LaunchFacts facts{.own = blocks_.since(kernel)};
  const auto known = known_by_.find(static_cast<Agent>(launcher.agent.index + 1));
  if (launcher.run == run_ && known != known_by_.end()) facts.known = known->second;
  return facts;
}

void HostWatcher::enter_body(const KernelBody& body, const void* frame) {
  if (belfry_watch_active == 0 || note_thread()) return;
  leave();
  mode_ = Mode::kBody;
  body_ = body;
  actor_ = body.launcher;
  context_ = CallTree::kRoot;
  skipped_calls_ = 0;
  blocks_before_ = blocks_.added();
  seen_of_body_ = 0;
  const bool is_replica = actor_.agent.kind == AgentId::Kind::kReplica && actor_.run == run_;
  const bool has_marks = phases_ - body.phases == phases_before_replicas_;
  const auto id = static_cast<Agent>(actor_.agent.index + 1);
  marks_body_ = is_replica && has_marks && id != maker_;
  if (marks_body_) {
    set_agent(id);
    known_ = body.known;  // The launcher may have taken variables after the launch.
  }
  set_stack_of_body(frame);
  ignoring_ = -1;  // KernelScope adds 1.
  belfry_watch_inside = belfry_watch_counts = 1;
}

void HostWatcher::leave_body() {
  stack_bytes_ = 0;
  if (seen_of_body_ == 0) {
    also_unseen_.insert("the body of kernel " + std::string(body_.name));
  }
}

// The part of the stack below `frame`: above are the frames of the code that the stream interrupts.
void HostWatcher::set_stack_of_body(const void* frame) {
  constexpr std::uintptr_t kMostStack = std::uintptr_t{8} << 20;
  const auto top = reinterpret_cast<std::uintptr_t>(frame);
  const belfry::detail::MemoryRange fiber = belfry::detail::stack_around(frame);
  on_fiber_ = false;  // The next agent on the fiber has more of the stack.
  stack_low_ =
      fiber.low == nullptr ? top - kMostStack : reinterpret_cast<std::uintptr_t>(fiber.low);
  stack_bytes_ = top - stack_low_;
}

// Whether the memory is the body's alone: blocks of the body, among them the operands, the kernel
// itself, and constants.
bool HostWatcher::is_of_body(std::uintptr_t address, const Access& access) {
  if (blocks_.has(address, blocks_before_)) return true;
  if (access.writes) return false;
  const auto has = [&](const auto& block) { return RecentBlocks::is_in(address, block); };
  return std::ranges::any_of(body_.own, has) || is_constant(address);
}

void HostWatcher::access_of_body(std::uintptr_t at, std::size_t bytes, Access access) {
  ++seen_of_body_;
  if (ignoring_ > 0 || at - stack_low_ < stack_bytes_) return;
  if (note_thread()) return;
  if (is_of_body(at, access)) return;
  if (access.maker == Maker::kCode) access.maker = Maker::kKernel;
  if (!kernel_access_) {
    kernel_place_ = {actor_, access.writes, place_of(access)};
    kernel_access_.emplace();
    kernel_access_->body = body_;
    kernel_access_->body.own = {};
  }
  if (marks_body_ && !is_on_a_stack(at)) mark_all(at, bytes, access);
}

}  // namespace belfry::sim::watch
