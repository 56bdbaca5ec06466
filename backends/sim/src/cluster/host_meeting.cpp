// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/host_meeting.h"

#include "belfry/detail/group_reports.h"

#include <algorithm>
#include <string>
#include <utility>

namespace belfry::sim {
namespace {

ErrorReport lost(std::string summary, std::string hint) {
  ErrorReport report;
  report.code = ErrorCode::kProcessLost;
  report.summary = std::move(summary);
  report.hint = std::move(hint);
  return report;
}

bool stops(const HostFault& fault) { return fault.kind == HostFault::Kind::kStop; }

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception without a text";
  }
}

}  // namespace

HostMeeting::HostMeeting(Executor& executor, SlowHosts& slow, int hosts,
                         const std::vector<HostFault>& faults)
    : executor_(executor),
      slow_(slow),
      faults_(faults),
      calls_(static_cast<std::size_t>(hosts)),
      counts_(static_cast<std::size_t>(hosts)) {}

std::shared_ptr<const HostMeeting::Outcome> HostMeeting::meet(int host, const HostCall& call) {
  require_own_thread(host, " calls ", call.name);
  const auto index = static_cast<std::size_t>(host);
  std::unique_lock lock(mutex_);
  ++counts_[index];
  slow_.call(host);
  suffer_faults(host);
  if (lost_) throw_error(*lost_);
  const Operation arrival{.kind = OperationKind::kArrive,
                          .agent = {AgentId::Kind::kReplica, host},
                          .subject = static_cast<std::uint64_t>(counts_[index]),
                          .name = call.name};
  calls_[index] = call;
  const std::shared_ptr<Outcome> mine = outcome_;
  const bool is_last = ++arrived_ == size();
  lock.unlock();
  is_last ? executor_.step(arrival) : executor_.block_until(arrival, gate_);
  executor_.announce({.kind = OperationKind::kResume,
                      .agent = arrival.agent,
                      .subject = arrival.subject,
                      .name = arrival.name});
  lock.lock();
  if (is_last) conclude();
  // A completed meeting counts, also if a host has left since.
  if (outcome_ == mine) throw_error(*lost_);
  if (mine->error) throw_error(*mine->error);
  return mine;
}

void HostMeeting::suffer_faults(int host) {
  const int count = counts_[static_cast<std::size_t>(host)];
  for (const HostFault& fault : faults_) {
    if (fault.host != host || count < fault.call) continue;
    if (fault.kind == HostFault::Kind::kStop) {
      if (on_stop) on_stop(host);
      throw HostStopped();
    }
    if (fault.kind == HostFault::Kind::kSlow || lost_) continue;
    const std::string ends =
        "process " + std::to_string(fault.host) + " and process " + std::to_string(fault.other);
    lose(lost(ends + " do not reach one another",
              "the plan of faults cuts the link: " + to_string(fault)));
  }
}

// The bytes and folds of all calls are in frames of hosts that wait here.
void HostMeeting::conclude() {
  Outcome& outcome = *outcome_;
  const std::string& name = calls_.front().name;
  if (std::ranges::any_of(calls_, [&](const HostCall& call) { return call.name != name; })) {
    std::vector<std::string> names;
    for (const HostCall& call : calls_) names.push_back(call.name);
    outcome.error = detail::calls_differ(names);
  } else if (std::ranges::all_of(calls_, [](const HostCall& call) { return call.fold; })) {
    std::vector<std::span<const std::byte>> messages;
    for (const HostCall& call : calls_) messages.push_back(call.bytes);
    outcome.folded = (*calls_.front().fold)(messages);
  }
  if (!outcome.error && !outcome.folded) {
    for (const HostCall& call : calls_) {
      outcome.bytes.emplace_back(call.bytes.begin(), call.bytes.end());
    }
  }
  arrived_ = 0;
  outcome_ = std::make_shared<Outcome>();
  executor_.open(gate_);
}

void HostMeeting::lose(ErrorReport report) {
  if (!lost_) lost_ = std::move(report);
  executor_.open(gate_);
}

void HostMeeting::leave(int host, const std::exception_ptr& thrown) {
  const std::lock_guard lock(mutex_);
  ended_.push_back(host);
  lose(detail::process_left(host, thrown == nullptr ? "" : "it threw " + text_of(thrown)));
}

void HostMeeting::stop(int host) {
  const std::lock_guard lock(mutex_);
  // The program may have made further calls, which threw as well.
  int call = counts_[static_cast<std::size_t>(host)];
  for (const HostFault& fault : faults_) {
    if (stops(fault) && fault.host == host) call = std::min(call, fault.call);
  }
  // All hosts make their calls together: the plan stops the others at this call, too.
  std::vector<int> stopped{host};
  for (const HostFault& fault : faults_) {
    if (stops(fault) && fault.call == call) stopped.push_back(fault.host);
  }
  std::ranges::sort(stopped);
  const auto twice = std::ranges::unique(stopped);
  stopped.erase(twice.begin(), twice.end());
  ended_.insert(ended_.end(), stopped.begin(), stopped.end());
  const bool is_one = stopped.size() == 1;
  lose(lost(detail::processes_text(stopped) + " stopped at " + (is_one ? "its" : "their") +
                " call " + std::to_string(call) + " of the group",
            std::string("the plan of faults stops the host") + (is_one ? "" : "s")));
}

void HostMeeting::require_own_thread(int host, const char* call, const std::string& name) const {
  if (std::this_thread::get_id() == thread_) return;
  throw ContextError(ErrorCode::kGroupContext,
                     (host < 0 ? "a host" : "host " + std::to_string(host)) + call + name +
                         " on a thread of the program",
                     "all hosts run on the thread of cluster.run: call the group, and strategies "
                     "over the group, on this thread");
}

GroupHealth HostMeeting::health() const {
  require_own_thread(-1, " asks for the health of its group");
  const std::lock_guard lock(mutex_);
  GroupHealth health;
  health.lost = ended_;
  std::ranges::sort(health.lost);
  const auto twice = std::ranges::unique(health.lost);
  health.lost.erase(twice.begin(), twice.end());
  if (lost_) health.reason = to_string(*lost_);
  return health;
}

std::vector<std::vector<std::byte>> HostGroup::gather(std::span<const std::byte> bytes) {
  return meeting_.meet(host_, {"gather", bytes})->bytes;
}

FoldedBytes HostGroup::fold(std::span<const std::byte> bytes, Fold fold) {
  auto outcome = meeting_.meet(host_, {"gather", bytes, &fold});
  if (!outcome->folded) return {.all = outcome->bytes};
  const std::vector<std::byte>* const folded = &*outcome->folded;
  return {.result = {std::move(outcome), folded}};
}

std::vector<std::byte> HostGroup::broadcast(std::span<const std::byte> bytes, int from) {
  detail::require_rank(*this, from);
  const auto first = [from](std::span<const std::span<const std::byte>> all) {
    const std::span<const std::byte> sent = all[static_cast<std::size_t>(from)];
    return std::optional<std::vector<std::byte>>(std::in_place, sent.begin(), sent.end());
  };
  const Fold fold(first);
  return *meeting_.meet(host_, {"broadcast from process " + std::to_string(from), bytes, &fold})
              ->folded;
}

std::string HostGroup::host_name(int process) const {
  detail::require_rank(*this, process, "the host of");
  return "host" + std::to_string(process);
}

}  // namespace belfry::sim
