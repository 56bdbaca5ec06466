// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/strategy/options.h"
#include "run/rounds/unnamed_merges.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace belfry::detail {

class RunFlight;

/// The progress of a replica of a run.
struct alignas(64) ReplicaState {
  enum class Status : std::uint8_t {
    kRunning,
    kArrived,    ///< Paused at a merge.
    kSeeking,    ///< Paused until the first replica makes a variable.
    kMaking,     ///< Paused until all processes make a variable.
    kAbsent,     ///< Takes no part in this run.
    kElsewhere,  ///< Of another process, without news of the process.
    kEnded,      ///< Returned.
    kThrew,      ///< Left with an exception of its own.
    kCancelled,  ///< Unwound because the run had failed.
    kAbandoned,  ///< Swallowed its cancellation too often.
    kStalled,    ///< Took no step for too long, and was left behind by a StallWatch.
  };
  Status status = Status::kRunning;
  bool was_throwing = false;    ///< Waited, when the run failed, while its own
                                ///< exception unwound it.
  std::uint32_t merges = 0;     ///< Merges reached so far.
  std::uint32_t swallowed = 0;  ///< Calls into belfry since the run failed.
  CallSite last_site{};
  const VariableRequest* sought = nullptr;  ///< While kSeeking.
  const CurrentContext* context = nullptr;  ///< Of its body, from its start to its end.
  std::exception_ptr exception{};
};

/// Stores a value for other threads: the thread of the run, or of a flight recorder.
template <class T>
void publish(T& place, T value) {
  std::atomic_ref<T>(place).store(value, std::memory_order_release);
}
template <class T>
T published(const T& place) {
  return std::atomic_ref<T>(const_cast<T&>(place)).load(std::memory_order_acquire);
}

/// The states of neighbouring replicas of a run, by replica id: those of this process, or of all
/// processes. Few states lie in the object itself: memory with the alignment of a state is
/// expensive.
class ReplicaStates {
 public:
  explicit ReplicaStates(int replicas, int lowest = 0)
      : lowest_(static_cast<std::size_t>(lowest)),
        size_(static_cast<std::size_t>(replicas)),
        many_(size_ > kFew ? size_ : 0),
        first_(size_ > kFew ? many_.data() : few_.data()) {}
  ReplicaStates(const ReplicaStates&) = delete;
  ReplicaStates& operator=(const ReplicaStates&) = delete;

  std::size_t size() const { return size_; }
  ReplicaState& operator[](std::size_t replica) { return first_[replica - lowest_]; }
  const ReplicaState& operator[](std::size_t replica) const { return first_[replica - lowest_]; }
  const ReplicaState* begin() const { return first_; }
  const ReplicaState* end() const { return first_ + size_; }
  /// The first replica with the status, or null.
  const ReplicaState* find(ReplicaState::Status status) const {
    const ReplicaState* const found = std::ranges::find(*this, status, &ReplicaState::status);
    return found == end() ? nullptr : found;
  }
  int id_of(const ReplicaState& state) const {
    return static_cast<int>(&state - first_) + static_cast<int>(lowest_);
  }

 private:
  static constexpr std::size_t kFew = 8;

  std::array<ReplicaState, kFew> few_{};
  std::size_t lowest_;
  std::size_t size_;
  std::vector<ReplicaState> many_;  // Empty if `few_` is enough.
  ReplicaState* first_;
};

/// The failed replica of a run, or -1, and the place of the failure.
struct RunCulprit {
  int replica = -1;
  CallSite site{};
};

/// A run of all members: `work` is the part of this process. If `work` throws, the members hear of
/// the failure of the `culprit` in their next exchange, where they wait for this process.
/// Throws: the exception of `work`, or the loss of a member behind the exception.
void run_with_members(RoundMembers& members, FunctionRef<void()> work,
                      FunctionRef<RunCulprit()> culprit);

/// A run in which no replica of this process takes part (SEM-212). Order, Throws: as
/// RoundMembers::listen.
void listen_to_run(StrategyCore& core, CrossReplicaContext& cross, const RunOptions& options);

/// A gate for each replica to wait for the members of a group: members go on without the rest of
/// the replicas. Made for the first merge of a group. Replicas may run side by side in
/// `gate`.
class GroupGates {
 public:
  /// Whether a replica of the run has met in a group. Context: while no replica goes on.
  bool any() const { return gates_ != nullptr; }
  Gate& gate(int replicas, int replica) {
    Gate* first = first_.load(std::memory_order_acquire);
    if (first == nullptr) [[unlikely]] {
      std::call_once(made_, [&] {
        gates_ = std::make_unique<Gate[]>(static_cast<std::size_t>(replicas));
        first_.store(gates_.get(), std::memory_order_release);
      });
      first = gates_.get();
    }
    return first[replica];
  }

 private:
  std::once_flag made_;
  std::unique_ptr<Gate[]> gates_;
  std::atomic<Gate*> first_ = nullptr;  // For replicas, without the cost of a call of call_once.
};

/// A run: carries the replicas through rounds until all have ended. In each round every replica
/// goes on until it arrives at a merge or ends. Then, on the thread that called `run`, the requests
/// are matched and the merge is executed once (SEM-1 to SEM-9). Absent replicas have an empty body,
/// and no round waits for them (SEM-90).
class ReplicaRunner final : public MergePoint, public Job, public RunFailure {
 public:
  ReplicaRunner(StrategyCore& core, CrossReplicaContext& cross,
                FunctionRef<void(ReplicaContext&)> function, Participants present);

  /// Runs all replicas to their end. Order: blocks the caller.
  /// Throws: the exception of the lowest failing replica or of the merge
  /// function; belfry's errors.
  void run(const RunOptions& options);

  void meet(int replica, MergeRequest& request) override;
  const MergeRequest* request_of(int replica) const override {
    return requests_[static_cast<std::size_t>(replica)];
  }
  void touch(int replica, OperationKind kind, const VariableInfo& variable, CallSite site) override;
  std::shared_ptr<void> make_variable(int replica, const VariableRequest& request,
                                      FunctionRef<std::shared_ptr<void>()> make) override;

  void begin() noexcept override;
  void body(int position) noexcept override;
  Settled settle() noexcept override;
  void deadlock(const std::vector<int>& blocked) noexcept override;
  void stalled(int position, std::uint32_t limit_ms) noexcept override;
  void late(bool in_merge, std::int64_t limit_ms) noexcept override;

 private:
  class HookStep;
  friend const MergeTag* tag_of(const StrategyStep& step);

  void carry_out(const RunOptions& options);
  void carry(bool concurrent);
  // Agrees with the other members on the round (SEM-151): whether the merge follows.
  bool agree();
  void enter_round() noexcept;
  Settled settle_some();
  void announce_throw(int replica) noexcept;
  void announce_end_of_run() noexcept;
  void finish();
  // `present` are all participants, or the members of a group. `functions`: as functions_.
  void merge_round(const Participants& present, int functions);
  bool merge_ready_groups() noexcept;
  bool merge_groups();
  // The members in the process go on. False if the run has failed.
  bool merge_group(const Participants& members);
  // Whether a replica waits for replicas of other processes.
  bool waits_for_others();
  void open_all();
  void begin_phase();
  void seek(int replica, const VariableRequest& request);
  // The replica has `status` until `gate` is opened. Throws: as Executor::block_until, and in a run
  // that has failed meanwhile.
  void pause(int replica, ReplicaState::Status status, CallSite site, Gate& gate);
  bool is_sought_made() const;
  void serve_seekers();
  // With other members, the first replica's variable is made between rounds (SEM-159).
  std::shared_ptr<void> make_with_members(int replica, const VariableRequest& request,
                                          FunctionRef<std::shared_ptr<void>()> make);
  void serve_maker();

  // The run fails. Without memory for the report the run fails too, without a report (SEM-144).
  // `describe` returns a Failure.
  template <class Describe>
  void fail(const std::exception_ptr& thrown, const Describe& describe) noexcept;
  void fail_without_merge();
  void fail_with_mismatch(const Participants& present);
  void fail_in_groups();
  void fail_in_merge(const MergeRequest& first, const std::exception_ptr& thrown);
  void fail_by(const ReplicaState& thrower);
  void fail_by_hidden_exception();
  void fail_for_seekers();
  void fail_by_overflow(const std::exception_ptr& thrown);
  void fail_with_members(const std::exception_ptr& thrown);
  void fail_unless_variables_agree(const Participants& present);
  void report_abandoned() noexcept;
  // Steps of the replicas: the run fails beyond the bound.
  void count_steps(std::uint64_t steps) noexcept;

  void require_alive(int replica) {
    if (has_failed()) [[unlikely]] {
      refuse(replica);
    }
  }
  [[noreturn]] void refuse(int replica);
  void refuse_work(const CurrentContext& context) override;
  /// Whether destructors of the calling replica run because of the failure of its run.
  bool is_being_unwound() const { return has_failed() && std::uncaught_exceptions() > 0; }
  // The log of a backend numbers the replicas of its process from 0.
  AgentId agent_of(int replica) {
    return {AgentId::Kind::kReplica, replica - core().first_replica()};
  }
  ReplicaState& state(int replica) { return states_[static_cast<std::size_t>(replica)]; }

  CrossReplicaContext& cross_;
  FunctionRef<void(ReplicaContext&)> function_;
  Participants present_;
  const int functions_;  // The replica whose merge functions run.
  Executor& executor_;
  Gate gate_;
  GroupGates groups_;
  Gate seekers_;
  Gate maker_;
  const FunctionRef<std::shared_ptr<void>()>* make_ = nullptr;  // While a replica is kMaking.
  std::shared_ptr<void> made_;
  std::exception_ptr make_failed_;
  ReplicaVariables variables_;
  ReplicaStates states_;
  std::vector<MergeRequest*> requests_;
  std::optional<UnnamedMerges> unnamed_;  // If the strategy requires names.
  RunFlight* flight_ = nullptr;           // With a flight recorder.
  bool is_noted_ = false;  // A bound or a recorder hears of rounds before they agree.
  CurrentContext cross_current_;
  const VariableRules* rules_ = nullptr;
  // Apart from the next number: a load of both would wait for the number that a round has just
  // stored here.
  std::uint64_t rounds_ = 0;
  std::uint64_t max_steps_ = 0;  // 0: no bound.
  std::atomic<std::uint64_t> steps_{0};
  bool nested_ = false;
  bool in_update_ = false;  // Begun in a function that is called for each component.
  std::exception_ptr primary_;
  int blamed_ = -1;  // Exceptions of lower replicas than this outrank `primary_`.
  std::uint64_t ordinal_ = 0;
  CallSite site_{};
};

}  // namespace belfry::detail
