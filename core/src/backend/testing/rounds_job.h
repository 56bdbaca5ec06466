// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"

#include <array>
#include <cstdint>

namespace belfry::testing {

/// The smallest job of a runner: every replica waits `rounds` times for all replicas.
class RoundsJob final : public Job {
 public:
  RoundsJob(Executor& executor, int replicas, int rounds)
      : executor_(executor), replicas_(replicas), rounds_(rounds) {}

  void carry() {
    ended_ = 0;
    executor_.carry(replicas_, *this, {});
  }

  void body(int replica) noexcept override {
    for (int round = 0; round < rounds_; ++round) {
      Operation operation{.kind = OperationKind::kArrive,
                          .agent = {AgentId::Kind::kReplica, replica},
                          .subject = static_cast<std::uint64_t>(round)};
      executor_.block_until(operation, gate_);
      operation.kind = OperationKind::kResume;
      executor_.announce(operation);
    }
    ++ended_;
  }

  Settled settle() noexcept override {
    if (on_settle != nullptr) on_settle(*this);
    ++settled;
    if (ended_ == replicas_) return Settled::kFinished;
    executor_.open(gate_);
    return Settled::kResumed;
  }

  void deadlock(const std::vector<int>&) noexcept override {}

  void (*on_settle)(RoundsJob&) = nullptr;
  int settled = 0;

 private:
  Executor& executor_;
  int replicas_;
  int rounds_;
  int ended_ = 0;
  Gate gate_;
};

/// Uniform choices from a seed. Stores the latest choices, as a replay token would.
class DrawnChooser final : public Chooser {
 public:
  explicit DrawnChooser(std::uint64_t seed) : state_(seed) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    const auto answer = static_cast<std::uint32_t>(((z >> 32) * count) >> 32);
    recorded_[next_++ % recorded_.size()] = answer;
    return answer;
  }

 private:
  std::uint64_t state_;
  std::size_t next_ = 0;
  std::array<std::uint32_t, 4096> recorded_{};
};

/// Keeps the latest operations, and a hash of all operations.
class HashingSink final : public OperationSink {
 public:
  void on_operation(const Operation& operation) override {
    const Entry entry{static_cast<std::uint32_t>(operation.kind),
                      static_cast<std::uint32_t>(operation.agent.index), operation.subject,
                      operation.value};
    hash_ = (hash_ ^ entry.kind ^ (entry.subject << 8)) * 0x9fb21c651e98df25U;
    hash_ = (hash_ ^ entry.agent ^ entry.value) * 0xd6e8feb86659fd93U;
    entries_[next_++ % entries_.size()] = entry;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  struct Entry {
    std::uint32_t kind;
    std::uint32_t agent;
    std::uint64_t subject;
    std::uint64_t value;
  };
  std::uint64_t hash_ = 0;
  std::size_t next_ = 0;
  std::array<Entry, 4096> entries_{};
};

}  // namespace belfry::testing
