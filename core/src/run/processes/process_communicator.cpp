// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The communicator over the devices of all processes (SEM-215): the offers of the processes are
// handed round, each process joins, and the processes agree on the outcome.
#include "run/processes/process_communicator.h"

#include "belfry/detail/byte_stream.h"
#include "belfry/detail/process_values.h"
#include "belfry/error.h"
#include "run/processes/group_members.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

constexpr const char* kWhat = "a communicator of all processes";

// The health of a group, for waits on any thread. A group is for a single thread at a time: the
// threads of replicas hear of no loss, and get the deadline of the last answer.
class AskedHealth {
 public:
  explicit AskedHealth(ProcessGroup& group)
      : group_(&group),
        deadline_(std::make_shared<std::atomic<std::int64_t>>(
            group.health().deadline.as_milliseconds())) {}

  GroupHealth operator()() const {
    if (std::this_thread::get_id() == owner_) {
      GroupHealth health = group_->health();
      deadline_->store(health.deadline.as_milliseconds());
      return health;
    }
    GroupHealth unknown;
    const std::int64_t limit = deadline_->load();
    if (limit != Deadline::never().as_milliseconds()) {
      unknown.deadline = Deadline::milliseconds(limit);
    }
    return unknown;
  }

 private:
  ProcessGroup* group_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::shared_ptr<std::atomic<std::int64_t>> deadline_;  // With all copies.
};

// The result of `work`; nothing if the devices cannot be joined.
template <class F>
auto unless_unsupported(StrategyCore& core, CallSite site, const F& work)
    -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const UnsupportedError&) {
    return {};
  } catch (...) {
    core.members().tell_failure(site);
    throw;
  }
}

// Whether every process says yes. The answers follow the first byte of each message.
bool all_agree(const std::vector<Bytes>& messages) {
  return std::ranges::all_of(messages,
                             [](const Bytes& message) { return ByteReader(message).get<bool>(); });
}

// The lowest process with devices.
int leader(const RoundMembers& processes) { return processes.process_of(0); }

// The offers of all processes; nothing if a process cannot join.
std::optional<std::vector<Bytes>> exchange_offers(StrategyCore& core, ProcessLinks& links,
                                                  CallSite site) {
  RoundMembers& processes = core.members();
  const bool leads = leader(processes) == processes.rank();
  const auto own = unless_unsupported(core, site, [&] {
    return core.devices().empty() ? Bytes() : links.offer(core.devices(), leads);
  });
  ByteWriter out;
  out.put(own.has_value());
  if (own) out.add(own->data(), own->size());
  const std::vector<Bytes> sent = processes.exchange_of_all(kWhat, site, out.bytes());
  if (!all_agree(sent)) return {};
  std::vector<Bytes> offers;
  for (const Bytes& message : sent) offers.emplace_back(message.begin() + 1, message.end());
  return offers;
}

}  // namespace

ProcessLinks* process_links(StrategyCore& core) {
  if (core.reductions().cannot_join_processes()) return nullptr;
  return dynamic_cast<ProcessLinks*>(&core.backend());
}

bool join_processes(StrategyCore& core, CallSite site) {
  StrategyReductions& reductions = core.reductions();
  if (reductions.process_communicator() != nullptr) return true;
  GroupMembers& processes = group_members(core);
  ProcessLinks& links = *process_links(core);
  const auto offers = exchange_offers(core, links, site);
  std::unique_ptr<Communicator> made;
  if (offers) {
    const ProcessJoin all{*offers, processes.rank(), AskedHealth(processes.group())};
    auto joined = unless_unsupported(core, site, [&] { return links.join(core.devices(), all); });
    if (joined) made = std::move(*joined);
    ByteWriter out;
    out.put(made != nullptr);
    if (!all_agree(processes.exchange_of_all(kWhat, site, out.bytes()))) made = nullptr;
  }
  const bool is_made = made != nullptr;
  reductions.join_processes(std::move(made));
  return is_made;
}

}  // namespace belfry::detail
