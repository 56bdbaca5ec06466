// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "clique.h"

#include "belfry/error.h"
#include "clique_work.h"
#include "engine/engine.h"
#include "machine.h"
#include "thread_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace belfry::driver {
namespace {

const char* name_of(Verb verb) {
  switch (verb) {
    case Verb::kAllReduce:
      return "all-reduce";
    case Verb::kReduce:
      return "reduce";
    case Verb::kBroadcast:
      return "broadcast";
    case Verb::kAllGather:
      return "all-gather";
    case Verb::kReduceScatter:
      return "reduce-scatter";
    case Verb::kSend:
      return "send";
    case Verb::kReceive:
      break;
  }
  return "receive";
}

bool matches(const CliqueCall& a, const CliqueCall& b) {
  if (a.op != b.op) return false;
  return a.verb == b.verb && a.count == b.count && a.type == b.type && a.root == b.root;
}

std::uint64_t number_of(const ncclUniqueId& id) {
  std::uint64_t number = 0;
  std::memcpy(&number, &id, sizeof number);
  return number;
}

}  // namespace

std::string to_string(const CliqueCall& call) {
  return std::string(name_of(call.verb)) + " of " + std::to_string(call.count) +
         " elements of type " + std::to_string(static_cast<int>(call.type)) +
         (is_transfer(call.verb) ? ", peer " : ", root ") + std::to_string(call.root) +
         (call.op == ncclSum ? "" : ", operator " + std::to_string(static_cast<int>(call.op)));
}

Touched CliqueCall::touched() const {
  Touched touched;
  if (read) touched.reads.push_back(*read);
  if (written) touched.writes.push_back(*written);
  return touched;
}

CliqueBook::CliqueBook(Machine& machine)
    : machine_(machine), engine_(machine.engine()), orders_(machine.options().seed) {}

// A call without its counterparts holds the communicator, and communicators hold the clique.
CliqueBook::~CliqueBook() {
  for (auto& [id, clique] : cliques_) {
    clique->open.clear();
    clique->transfers.clear();
  }
}

ncclUniqueId CliqueBook::make_id() {
  const std::lock_guard lock(mutex_);
  ncclUniqueId id{};
  const std::uint64_t number = ++ids_;
  std::memcpy(&id, &number, sizeof number);
  return id;
}

CliqueBook::Complaint CliqueBook::join(const JoinCall& call, ThreadState& thread,
                                       ncclComm_t* handle) {
  const std::lock_guard lock(mutex_);
  *handle = nullptr;
  const std::uint64_t number = number_of(call.id);
  if (number == 0 || number > ids_) return "an id that ncclGetUniqueId did not make";
  const auto& clique = clique_for(number, call.ranks);
  if (clique->size() != call.ranks) {
    return "rank " + std::to_string(call.rank) + " says there are " + std::to_string(call.ranks) +
           " ranks, others say " + std::to_string(clique->size());
  }
  Complaint complaint;
  for (const auto& weak : clique->members) {
    const auto member = weak.lock();
    if (member == nullptr) continue;
    if (member->rank == call.rank) return "rank " + std::to_string(call.rank) + " joins twice";
    if (member->gpu == thread.gpu) {
      complaint = "ranks " + std::to_string(member->rank) + " and " + std::to_string(call.rank) +
                  " are both on GPU " + std::to_string(thread.gpu);
    }
  }
  auto communicator = std::make_shared<CommunicatorObject>();
  communicator->clique = clique;
  communicator->rank = call.rank;
  communicator->gpu = thread.gpu;
  communicator->blocking = call.blocking;
  communicator->polls_left = call.blocking ? 0 : machine_.options().polls;
  communicator->caller = &thread;
  thread.change_ranks(machine_, 1);
  for (const auto& weak : clique->members) {
    const auto member = weak.lock();
    if (member == nullptr || member->caller != &thread) continue;
    set_unclaimed(*member, true);
    set_unclaimed(*communicator, true);
  }
  clique->members[static_cast<std::size_t>(call.rank)] = communicator;
  ++clique->joined;
  *handle = static_cast<ncclComm_t>(communicators_.insert(std::move(communicator)));
  if (complaint) {
    fail_all(*clique);
  } else if (clique->complete()) {
    engine_.reach(clique->gathered);
  }
  return complaint;
}

const std::shared_ptr<CliqueObject>& CliqueBook::clique_for(std::uint64_t id, int ranks) {
  auto place = cliques_.find(id);
  if (place == cliques_.end()) {
    auto clique = std::make_shared<CliqueObject>(ranks);
    engine_.promise(clique->gathered);
    place = cliques_.emplace(id, std::move(clique)).first;
  }
  return place->second;
}

CliqueBook::CommunicatorPtr CliqueBook::find(ncclComm_t handle, ThreadState& thread) {
  CommunicatorPtr communicator = communicators_.find(handle);
  if (communicator == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!communicator->ended) take(*communicator, thread);
  set_unclaimed(*communicator, false);
  return communicator;
}

// First the new thread, then the former: in between, no wait may look like a deadlock.
void CliqueBook::take(CommunicatorObject& communicator, ThreadState& thread) {
  ThreadState* const before = std::exchange(communicator.caller, &thread);
  if (before == &thread) return;
  thread.change_ranks(machine_, 1);
  if (before != nullptr) {
    before->change_ranks(machine_, -1);
  } else {
    machine_.count_threads(-1);
  }
}

void CliqueBook::set_unclaimed(CommunicatorObject& communicator, bool unclaimed) {
  if (!machine_.counts_threads() || communicator.unclaimed == unclaimed) return;
  communicator.unclaimed = unclaimed;
  engine_.change_unclaimed(unclaimed ? 1 : -1);
}

// Each communicator that is left counts as a thread that does not wait.
void CliqueBook::leave(const ThreadState& thread) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, clique] : cliques_) {
    for (const auto& weak : clique->members) {
      const auto member = weak.lock();
      if (member == nullptr || member->ended || member->caller != &thread) continue;
      member->caller = nullptr;
      machine_.count_threads(1);
    }
  }
}

void CliqueBook::await_ranks(const CommunicatorObject& communicator) {
  // The missing ranks may come from threads without a call so far: no wait is a deadlock meanwhile.
  std::optional<engine::Engine::Enqueuing> expecting;
  if (machine_.counts_threads()) expecting.emplace(engine_);
  engine_.synchronize(communicator.clique->gathered);
}

ncclResult_t CliqueBook::poll(CommunicatorObject& communicator) {
  const std::lock_guard lock(mutex_);
  if (communicator.state != ncclSuccess) return communicator.state;
  if (!communicator.clique->complete()) return ncclInProgress;
  if (communicator.polls_left == 0) return ncclSuccess;
  --communicator.polls_left;
  return ncclInProgress;
}

ncclResult_t CliqueBook::failure_of(const CommunicatorObject& communicator) const {
  const std::lock_guard lock(mutex_);
  return communicator.state;
}

void CliqueBook::fail(CommunicatorObject& communicator, ncclResult_t code) {
  const std::lock_guard lock(mutex_);
  communicator.state = code;
  end(communicator);
}

void CliqueBook::end(CommunicatorObject& communicator) {
  if (std::exchange(communicator.ended, true)) return;
  set_unclaimed(communicator, false);
  ThreadState* const caller = std::exchange(communicator.caller, nullptr);
  if (caller != nullptr) {
    caller->change_ranks(machine_, -1);
  } else {
    machine_.count_threads(-1);
  }
}

bool CliqueBook::busy(const CommunicatorObject& communicator) const {
  const std::lock_guard lock(mutex_);
  return communicator.polls_left > 0 || !communicator.clique->complete();
}

void CliqueBook::set_busy(CommunicatorObject& communicator, int polls) {
  const std::lock_guard lock(mutex_);
  communicator.polls_left = polls;
}

void CliqueBook::finalize(CommunicatorObject& communicator, int polls) {
  const std::lock_guard lock(mutex_);
  communicator.finalized = true;
  communicator.polls_left = polls;
}

bool CliqueBook::finalized(const CommunicatorObject& communicator) const {
  const std::lock_guard lock(mutex_);
  return communicator.finalized;
}

bool CliqueBook::destroy(ncclComm_t handle) {
  const CommunicatorPtr communicator = communicators_.erase(handle);
  if (communicator == nullptr) return false;
  // Calls may still hold the communicator: the end of the thread must not count the communicator.
  const std::lock_guard lock(mutex_);
  end(*communicator);
  return true;
}

void CliqueBook::abort(CommunicatorObject& communicator) {
  const std::lock_guard lock(mutex_);
  give_up_open_calls(*communicator.clique, "a communicator was aborted");
}

void CliqueBook::give_up_open_calls(CliqueObject& clique, const std::string& why) {
  for (auto& [position, open] : clique.open) give_up(clique, open.collective, open.meeting, why);
  for (auto& [ranks, waiting] : clique.transfers) {
    for (OpenTransfer& open : waiting) give_up(clique, open.collective, open.meeting, why);
  }
  clique.open.clear();
  clique.transfers.clear();
}

CliqueBook::Complaint CliqueBook::post(const CliqueCall& call) {
  const std::lock_guard lock(mutex_);
  CommunicatorObject& communicator = *call.communicator;
  CliqueObject& clique = *communicator.clique;
  if (communicator.state != ncclSuccess) return "a rank of the communicator has failed";
  OpenCollective& open = open_for(call);
  if (!matches(open.first, call)) {
    const engine::CollectivePtr collective = open.collective;
    Complaint complaint = "the ranks of a communicator differ in their collective number " +
                          std::to_string(communicator.posted) + ": rank " +
                          std::to_string(open.first.communicator->rank) + " calls " +
                          to_string(open.first) + "; rank " + std::to_string(communicator.rank) +
                          " calls " + to_string(call);
    give_up_open_calls(clique, *complaint);
    engine_.join(*call.stream.queue, collective, static_cast<std::size_t>(communicator.rank));
    return complaint;
  }
  (*open.calls)[static_cast<std::size_t>(communicator.rank)] = call;
  engine::Command& command = open.collective->command;
  if (call.read) command.reads.push_back(*call.read);
  if (call.written) command.writes.push_back(*call.written);
  machine_.races().join(*call.stream.queue, open.meeting, call.touched(), call.by,
                        *call.stream.queue);
  engine_.join(*call.stream.queue, open.collective, static_cast<std::size_t>(communicator.rank));
  const std::uint64_t position = communicator.posted++;
  if (++open.joined == clique.members.size()) clique.open.erase(position);
  return std::nullopt;
}

OpenCollective& CliqueBook::open_for(const CliqueCall& call) {
  CliqueObject& clique = *call.communicator->clique;
  const auto [place, fresh] = clique.open.try_emplace(call.communicator->posted);
  OpenCollective& open = place->second;
  if (!fresh) return open;
  open.collective = std::make_shared<engine::Collective>(clique.members.size());
  open.meeting = std::make_shared<Meeting>(clique.members.size());
  open.calls = std::make_shared<std::vector<CliqueCall>>(clique.members.size());
  open.first = call;
  engine::Command& command = open.collective->command;
  command.name = name_of(call.verb);
  // NCCL leaves the order of its additions open: the schedule chooses.
  constexpr ReductionOrder kOrders[] = {ReductionOrder::kRing, ReductionOrder::kTree,
                                        ReductionOrder::kReplicaOrder};
  const ReductionOrder order = kOrders[orders_.choose(ChoiceKind::kOrder, 3)];
  command.run = [calls = open.calls, order](const engine::Command&) {
    run_collective(*calls, order);
  };
  return open;
}

void CliqueBook::give_up(CliqueObject& clique, const engine::CollectivePtr& collective,
                         const MeetingPtr& meeting, const std::string& why) {
  machine_.races().give_up(meeting);
  engine_.abandon(collective, std::make_exception_ptr(DeviceError(ErrorCode::kDeviceLost, why)));
  fail_all(clique);
}

void CliqueBook::fail_all(CliqueObject& clique) {
  for (const auto& weak : clique.members) {
    const auto member = weak.lock();
    if (member == nullptr) continue;
    member->state = ncclInvalidUsage;
    end(*member);
  }
  engine_.reach(clique.gathered);
}

}  // namespace belfry::driver
