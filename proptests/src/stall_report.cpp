// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "stall_report.h"

#include <execinfo.h>

#include <cstdlib>

namespace belfry::testing {
namespace {

using State = ReplicaProgress::State;

std::string time_text(std::uint32_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

std::string since(const ReplicaProgress& replica) {
  return replica.merges == 0 ? "before its first merge"
                             : "after merge #" + std::to_string(replica.merges);
}

std::string at_work(const ReplicaProgress& replica) {
  return replica.merges == 0
             ? "has not reached its first merge"
             : "has not reached a merge since merge #" + std::to_string(replica.merges);
}

std::string state_text(const ReplicaProgress& replica, bool has_turn) {
  switch (replica.state) {
    case State::kNotStarted:
      return "has not started";
    case State::kRunning:
      return has_turn ? at_work(replica) : "waits for its turn " + since(replica);
    case State::kAtMerge:
      return "waits in merge #" + std::to_string(replica.merges);
    case State::kAtDevice:
      return has_turn ? at_work(replica) : "waits for its device " + since(replica);
    case State::kEnded:
      return "has ended " + since(replica);
    case State::kLeftBehind:
      return "was left behind " + since(replica);
  }
  return "?";
}

std::string subject_of(const RunProgress& run) {
  if (run.turn() == RunProgress::kCaller) return "a merge";
  if (run.turn() == RunProgress::kAll) return "every replica";
  return "replica " + std::to_string(run.facts().first_replica + run.turn());
}

}  // namespace

ErrorReport stall_report(const RunProgress& run, std::uint32_t limit_ms) {
  ErrorReport report;
  report.code = ErrorCode::kReplicaStalled;
  report.summary = subject_of(run) + " took no step for " + time_text(limit_ms) +
                   " in a run on the carrier " + std::string(run.facts().carrier);
  report.site = run.facts().site;
  int position = 0;
  for (const ReplicaProgress& replica : run.replicas()) {
    const bool has_turn = run.turn() == RunProgress::kAll || run.turn() == position;
    report.replicas.push_back({run.facts().first_replica + position, replica.site,
                               state_text(replica, has_turn), nullptr});
    ++position;
  }
  report.expected = kExpectedWithoutStall;
  report.hint = kHintAtStall;
  return report;
}

std::string call_lines(std::span<void* const> calls) {
  char** const names = ::backtrace_symbols(calls.data(), static_cast<int>(calls.size()));
  if (names == nullptr) return {};
  std::string text;
  for (std::size_t i = 0; i < calls.size(); ++i) text += "\n    " + std::string(names[i]);
  std::free(names);
  return text;
}

}  // namespace belfry::testing
