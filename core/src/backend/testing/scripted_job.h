// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/backend/unwatched.h"
#include "belfry/error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace belfry::testing {

/// The operations, a line each: `R2 arrive 1`. The sink of the executor under test.
class Trace final : public OperationSink {
 public:
  void on_operation(const Operation& operation) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(to_string(operation.agent) + ' ' + to_string(operation.kind) + ' ' +
                     std::to_string(operation.subject));
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Answers drawn from a seed; always 0 for seed 0. Records the count of each question.
class SeededChooser final : public Chooser {
 public:
  explicit SeededChooser(std::uint64_t seed) : state_(seed) {}
  std::uint32_t choose(ChoiceKind, std::uint32_t count) override {
    counts.push_back(count);
    if (state_ == 0) return 0;
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(((state_ >> 32) * count) >> 32);
  }

  std::vector<std::uint32_t> counts;

 private:
  std::uint64_t state_;
};

/// A job with the same function for all bodies, and a merge at each meeting of all live replicas.
class ScriptedJob final : public Job {
 public:
  using Body = std::function<void(ScriptedJob&, int replica)>;

  ScriptedJob(Executor& executor, int replicas, Body body)
      : executor_(executor), body_(std::move(body)), states_(static_cast<std::size_t>(replicas)) {}

  void run(bool concurrent = true) {
    executor_.carry(static_cast<int>(states_.size()), *this, {concurrent});
  }

  /// Waits until every living replica is here too.
  void meet(int replica) {
    states_[static_cast<std::size_t>(replica)].arrived = true;
    executor_.block_until(
        {.kind = OperationKind::kArrive, .agent = {AgentId::Kind::kReplica, replica}}, gate_);
    states_[static_cast<std::size_t>(replica)].arrived = false;
  }
  void step(int replica, std::uint64_t subject) {
    executor_.step({.kind = OperationKind::kVariableRead,
                    .agent = {AgentId::Kind::kReplica, replica},
                    .subject = subject});
  }
  /// Waits at `gate` until a different agent opens the gate.
  void wait_at(int replica, Gate& gate) {
    executor_.block_until(
        {.kind = OperationKind::kHostWait, .agent = {AgentId::Kind::kReplica, replica}}, gate);
  }
  void abandon(int replica) {
    end(replica);
    executor_.abandon();
  }
  /// No round waits for `replica` any more.
  void end(int replica) { states_[static_cast<std::size_t>(replica)].ended = true; }

  /// Called at each merge, while all wait.
  std::function<void()> on_merge = [] {};
  int merges = 0;
  std::vector<std::vector<int>> deadlocks;
  int cancelled = 0;

  void body(int replica) noexcept override {
    try {
      body_(*this, replica);
    } catch (const ReplicaCancelled&) {
      const std::lock_guard lock(mutex_);
      ++cancelled;
    }
    const belfry::detail::Unwatched unwatched;
    states_[static_cast<std::size_t>(replica)].ended = true;
    executor_.announce({.kind = OperationKind::kEnd, .agent = {AgentId::Kind::kReplica, replica}});
  }

  Settled settle() noexcept override {
    std::size_t arrived = 0;
    std::size_t ended = 0;
    for (const State& state : states_) {
      arrived += state.arrived && !state.ended ? 1 : 0;
      ended += state.ended ? 1 : 0;
    }
    if (ended == states_.size()) return Settled::kFinished;
    if (arrived + ended < states_.size()) return Settled::kWaiting;
    ++merges;
    executor_.step({.kind = OperationKind::kMerge,
                    .agent = {AgentId::Kind::kMerge, 0},
                    .subject = static_cast<std::uint64_t>(merges)});
    on_merge();
    executor_.open(gate_);
    return Settled::kResumed;
  }

  void deadlock(const std::vector<int>& blocked) noexcept override { deadlocks.push_back(blocked); }

 private:
  struct State {
    bool arrived = false;
    bool ended = false;
  };

  Executor& executor_;
  Body body_;
  std::vector<State> states_;
  Gate gate_;
  std::mutex mutex_;
};

/// Streams that count down, a step at a time, and then open their gate.
class CountdownStreams final : public OtherAgents {
 public:
  struct Stream {
    int steps = 0;
    Gate gate{};
  };

  CountdownStreams(OperationSink* sink, const std::vector<int>& steps) : sink_(sink) {
    for (const int count : steps) {
      streams_.push_back(std::make_unique<Stream>());
      streams_.back()->steps = count;
    }
  }

  Executor* executor = nullptr;

  bool done(std::size_t stream) const { return streams_[stream]->steps == 0; }
  Gate& gate(std::size_t stream) { return streams_[stream]->gate; }

  std::uint32_t runnable() override {
    std::uint32_t count = 0;
    for (const auto& stream : streams_) count += stream->steps > 0 ? 1 : 0;
    return count;
  }

  void run(std::uint32_t which) override {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (done(i) || which-- > 0) continue;
      if (sink_ != nullptr) {
        sink_->on_operation({.kind = OperationKind::kExecute,
                             .agent = {AgentId::Kind::kStream, static_cast<std::int32_t>(i)},
                             .subject = static_cast<std::uint64_t>(streams_[i]->steps)});
      }
      if (--streams_[i]->steps == 0) executor->open(streams_[i]->gate);
      return;
    }
  }

 private:
  OperationSink* sink_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace belfry::testing
