// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace belfry::detail {

/// Who goes on.
struct Turn {
  enum class Kind : std::uint8_t { kReplica, kAgent, kNobody };
  Kind kind = Kind::kNobody;
  std::uint32_t index = 0;  ///< The replica's id, or the agent's position among the runnable.
};

/// Decides the turns of a run. Fibers and threads share these decisions, and therefore take the
/// same choices in the same order, O(1) each.
///
/// The replicas that can go on form a queue. Answer k of the Chooser takes the k-th replica from
/// the front, and the front moves into the gap. Answers beyond the queue name other agents.
/// Replicas that become ready come to the front, lowest id first; a queue in ascending order stays
/// in ascending order. Hence a Chooser that always answers 0 gives the serial schedule: the lowest
/// id that can go on. Without a Chooser the schedule is always serial.
class Turns {
 public:
  Turns(Chooser* chooser, OtherAgents* agents);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// `serial`: the serial schedule, without a question.
  void begin(int replicas, bool serial = false) {
    chooser_ = serial ? nullptr : asked_;
    ascending_ = true;
    everybody_.resize(static_cast<std::size_t>(replicas));
    std::iota(everybody_.rbegin(), everybody_.rend(), 0);
    queue_ = everybody_;
    ready_ = static_cast<std::uint32_t>(replicas);
  }

  bool empty() const { return ready_ == 0 && drawn_.empty(); }

  /// Whether `ahead` is worth asking.
  bool looks_ahead() const { return ready_ > kFar || !drawn_.empty(); }
  /// The replica that runs `turns` after the next turn, if known; else -1.
  int ahead(std::size_t turns) const {
    if (chooser_ != nullptr) return drawn_.at(turns);
    return turns < ready_ ? queue_[ready_ - 1 - turns] : -1;
  }

  /// The next turn after the caller has blocked or ended: kNobody if no replica is ready.
  Turn next() {
    if (looks_ahead() && chooser_ != nullptr) [[unlikely]] {
      return next_drawn();
    }
    const std::uint32_t ready = ready_;
    if (ready == 0) return {};
    if (chooser_ == nullptr) return take(0);
    const std::uint32_t k = choose(ready + runnable());
    return k < ready ? take(k) : Turn{Turn::Kind::kAgent, k - ready};
  }

  /// The next turn if `caller` could go on: answer 0 is the caller, then the queue, then other
  /// agents. A caller that has to wait is at the front of the queue, or in the gap.
  Turn preempt(int caller) {
    if (!drawn_.empty()) [[unlikely]] {
      return preempt_drawn(caller);
    }
    const std::uint32_t ready = ready_;
    queue_[ready] = caller;  // A free place, until the caller has to wait.
    const std::uint32_t k = chooser_ == nullptr ? 0 : choose(1 + ready + runnable());
    if (k == 0) return {Turn::Kind::kReplica, static_cast<std::uint32_t>(caller)};
    ascending_ = false;
    ++ready_;
    return k <= ready ? take(k) : Turn{Turn::Kind::kAgent, k - 1 - ready};
  }

  /// The other agent that goes on while all replicas wait, or none.
  Turn wait();
  /// For a caller that is no replica: the other agent that goes first, or none.
  Turn preempt_caller();

  /// These can go on.
  void admit(const Gate::Waiter* waiters, std::size_t count) {
    if (ready_ == 0 && count == everybody_.size()) {
      // All replicas waited at the same gate, in any order.
      std::ranges::copy(everybody_, queue_.begin());
      ready_ = static_cast<std::uint32_t>(count);
      ascending_ = true;
      return;
    }
    admit_some(waiters, count);
  }
  void admit(const std::vector<int>& replicas);

 private:
  std::uint32_t runnable() { return agents_ == nullptr ? 0 : agents_->runnable(); }

  std::uint32_t choose(std::uint32_t count) {
    if (count == 1) return 0;
    const std::uint32_t k = chooser_->choose(ChoiceKind::kAgent, count);
    return k < count ? k : count - 1;
  }

  // Without branches, for the processor could not predict the answer.
  Turn take(std::uint32_t k) {
    const std::uint32_t last = --ready_;
    int& gap = queue_[last - k];
    const int taken = gap;
    gap = queue_[last];
    ascending_ = ascending_ && k == 0;
    return {Turn::Kind::kReplica, static_cast<std::uint32_t>(taken)};
  }

  Turn next_drawn();
  Turn preempt_drawn(int caller);
  std::uint32_t choose_among(std::uint32_t count);
  void name_candidates(std::uint32_t count);
  void admit_some(const Gate::Waiter* waiters, std::size_t count);
  void restore_order(std::size_t added);

  // Replicas with decided turns, in order.
  class Drawn {
   public:
    static constexpr std::uint32_t kMost = 16;

    bool empty() const { return size_ == 0; }
    bool full() const { return size_ == kMost; }
    std::uint32_t size() const { return size_; }
    int& operator[](std::size_t i) { return ids_[(first_ + i) % kMost]; }
    int at(std::size_t i) const { return i < size_ ? ids_[(first_ + i) % kMost] : -1; }
    void push(int id) { (*this)[size_++] = id; }
    int pop() {
      --size_;
      return ids_[first_++ % kMost];
    }

   private:
    std::array<int, kMost> ids_{};
    std::size_t first_ = 0;
    std::uint32_t size_ = 0;
  };
  static constexpr std::size_t kFar = 128;

  std::vector<int> queue_;  // Of `ready_`, reversed: the front is at the end.
  std::uint32_t ready_ = 0;
  std::vector<int> everybody_;  // The queue when all can go on.
  Drawn drawn_;                 // Go before the queue.
  bool ascending_ = true;       // Whether the queue is in order of ids.
  Chooser* chooser_ = nullptr;  // `asked_`, or null in the serial schedule.
  Chooser* asked_;
  OtherAgents* agents_;
  // If the Chooser wants candidates, the queue asks `naming_` instead: `choose` is the same code
  // for both kinds of Chooser.
  class Naming;
  std::unique_ptr<Chooser> naming_;
  Chooser* wants_candidates_ = nullptr;  // The Chooser, if `asked_` is `naming_`.
  std::vector<AgentId> candidates_;
  bool caller_asks_ = false;  // In `preempt_caller`.
};

}  // namespace belfry::detail
