// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/host_meeting.h"

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

HostMeeting::HostMeeting(Executor& executor, int hosts, const std::vector<HostFault>& faults)
    : executor_(executor),
      faults_(faults),
      calls_(static_cast<std::size_t>(hosts)),
      counts_(static_cast<std::size_t>(hosts)) {}

std::vector<std::vector<std::byte>> HostMeeting::meet(int host, HostCall call) {
  const auto index = static_cast<std::size_t>(host);
  ++counts_[index];
  suffer_faults(host);
  if (lost_) throw_error(*lost_);
  const Operation arrival{.kind = OperationKind::kArrive,
                          .agent = {AgentId::Kind::kReplica, host},
                          .subject = static_cast<std::uint64_t>(counts_[index]),
                          .name = call.name};
  calls_[index] = call;
  const std::shared_ptr<Outcome> mine = outcome_;
  if (++arrived_ == size()) {
    executor_.step(arrival);
    conclude();
  } else {
    executor_.block_until(arrival, gate_);
  }
  // A completed meeting counts, also if a host has left since.
  if (outcome_ == mine) throw_error(*lost_);
  if (mine->error) throw_error(*mine->error);
  return mine->bytes;
}

void HostMeeting::suffer_faults(int host) {
  const int count = counts_[static_cast<std::size_t>(host)];
  for (const HostFault& fault : faults_) {
    if (fault.host != host || count < fault.call) continue;
    if (fault.kind == HostFault::Kind::kStop) throw HostStopped();
    if (lost_) continue;
    const std::string ends =
        "process " + std::to_string(fault.host) + " and process " + std::to_string(fault.other);
    lose(lost(ends + " do not reach one another",
              "the plan of faults cuts the link: " + to_string(fault)));
  }
}

void HostMeeting::conclude() {
  Outcome& outcome = *outcome_;
  for (const std::optional<HostCall>& call : calls_) {
    if (call->name != calls_.front()->name && !outcome.error) outcome.error = difference();
  }
  for (std::optional<HostCall>& call : calls_) {
    outcome.bytes.push_back(std::move(call->bytes));
    call.reset();
  }
  arrived_ = 0;
  outcome_ = std::make_shared<Outcome>();
  executor_.open(gate_);
}

ErrorReport HostMeeting::difference() const {
  ErrorReport report;
  report.code = ErrorCode::kMergeKinds;
  report.summary = "processes make different calls of their group";
  for (int host = 0; host < size(); ++host) {
    ReplicaReport& part = report.replicas.emplace_back();
    part.process = host;
    part.what = "calls " + calls_[static_cast<std::size_t>(host)]->name;
  }
  report.expected = "the same calls in the same order in every process";
  return report;
}

void HostMeeting::lose(ErrorReport report) {
  if (!lost_) lost_ = std::move(report);
  executor_.open(gate_);
}

void HostMeeting::leave(int host, const std::exception_ptr& thrown) {
  std::string summary = "process " + std::to_string(host) + " has left the group";
  if (thrown != nullptr) summary += ": it threw " + text_of(thrown);
  lose(lost(std::move(summary),
            "every process makes the same calls, and ends after the last of "
            "them"));
}

void HostMeeting::stop(int host) {
  // The program may have made further calls, which threw as well.
  int call = counts_[static_cast<std::size_t>(host)];
  for (const HostFault& fault : faults_) {
    const bool stops = fault.kind == HostFault::Kind::kStop && fault.host == host;
    if (stops) call = std::min(call, fault.call);
  }
  lose(lost("process " + std::to_string(host) + " stopped at its call " + std::to_string(call) +
                " of the group",
            "the plan of faults stops the host"));
}

std::vector<std::vector<std::byte>> HostGroup::gather(std::span<const std::byte> bytes) {
  return meeting_.meet(host_, {"gather", {bytes.begin(), bytes.end()}});
}

std::vector<std::byte> HostGroup::broadcast(std::span<const std::byte> bytes, int from) {
  detail::require_rank(*this, from);
  std::vector<std::byte> own;
  if (host_ == from) own.assign(bytes.begin(), bytes.end());
  const std::string name = "broadcast from process " + std::to_string(from);
  return std::move(meeting_.meet(host_, {name, std::move(own)})[static_cast<std::size_t>(from)]);
}

}  // namespace belfry::sim
