// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The farewell of a group, the last rounds. A process may work for long before the farewell: the
// others wait as long as the process lives.
#include "belfry/detail/group_reports.h"
#include "belfry/error.h"
#include "rounds.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace belfry::mpi {
namespace {

void print(const std::string& text, int rank, int size) {
  const std::string line =
      "belfry: process " + std::to_string(rank) + " of " + std::to_string(size) + " " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace

void Rounds::watch(Deadline farewell_deadline) {
  if (size() == 1) return;
  const auto gather = [&](std::span<const std::byte> bytes) { return meet(kConstructor, bytes); };
  const std::int64_t network_ms =
      std::clamp<std::int64_t>(deadline_.as_milliseconds() / 4, 1, 1000);
  liveness_ = std::make_unique<Liveness>(rank_, gather, network_ms);
  if (!liveness_->unseen().empty()) farewell_deadline_ = farewell_deadline;
}

// Sockets are closed after the second round, which begins when all have called the first:
// in the first round a closed socket means a process without a farewell.
bool Rounds::take_leave() noexcept {
  if (lost_) return false;
  try {
    for (const Call call : {kLeave, kEnd}) {
      begin_round(call, {});
      release_slots();
    }
    all_took_leave_ = true;
  } catch (...) {
    // Processes have lost each other.
  }
  return all_took_leave_;
}

bool Rounds::next_has_ended() const {
  return call_ == kLeave && liveness_ != nullptr && liveness_->next_has_ended();
}

void Rounds::give_up_ended() {
  give_up({liveness_->next()}, "no farewell before the end of the process");
}

// The longest silence of an awaited process.
Deadline Rounds::patience() const {
  if (call_ == kLeave && liveness_ != nullptr) return farewell_deadline_;
  const bool is_longer = file_deadline_.as_milliseconds() > deadline_.as_milliseconds();
  return waits_for_file_ && is_longer ? file_deadline_ : deadline_;
}

// The destructor of a group throws nothing.
void Rounds::tell_of(ErrorReport loss) const {
  loss.expected = "all processes destroy the group after the last call";
  loss.hint = "read the output of the lost process";
  if (call_ == kLeave && !liveness_->unseen().empty()) {
    loss.hint = "no connection shows the end of " + detail::processes_text(liveness_->unseen()) +
                ": GroupOptions::farewell_deadline is the longest wait";
  }
  print("ends the group without all others, and does not end MPI: mpirun may end the job\n" +
            to_string(loss),
        rank_, size());
}

// Of all waiting processes, the lowest tells, once.
void Rounds::tell_of_wait(const std::vector<int>& silent) {
  bool is_told = std::exchange(has_told_of_wait_, true);
  for (int process = 0; process < rank_; ++process) is_told = is_told || slots_->has(process);
  if (is_told) return;
  print("waits for the farewell of " + detail::processes_text(silent), rank_, size());
}

}  // namespace belfry::mpi
