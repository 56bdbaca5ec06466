// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace belfry::detail {

struct CurrentContext;
struct VariableRequest;

/// The progress of one replica of a run.
struct alignas(64) ReplicaState {
  enum class Status : std::uint8_t {
    kRunning,
    kArrived,    ///< Paused at a merge.
    kSeeking,    ///< Paused until the first replica makes a variable.
    kAbsent,     ///< Takes no part in this run.
    kEnded,      ///< Returned.
    kThrew,      ///< Left with an exception of its own.
    kCancelled,  ///< Unwound because the run had failed.
    kAbandoned,  ///< Swallowed its cancellation too often.
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

/// The states of the replicas of a run, by replica id. Few states lie in the
/// object itself: memory with this alignment is expensive.
class ReplicaStates {
 public:
  explicit ReplicaStates(int replicas)
      : size_(static_cast<std::size_t>(replicas)),
        many_(size_ > kFew ? size_ : 0),
        first_(size_ > kFew ? many_.data() : few_.data()) {}
  ReplicaStates(const ReplicaStates&) = delete;
  ReplicaStates& operator=(const ReplicaStates&) = delete;

  std::size_t size() const { return size_; }
  ReplicaState& operator[](std::size_t replica) { return first_[replica]; }
  const ReplicaState& operator[](std::size_t replica) const { return first_[replica]; }
  const ReplicaState* begin() const { return first_; }
  const ReplicaState* end() const { return first_ + size_; }
  /// The first replica with that status, or null.
  const ReplicaState* find(ReplicaState::Status status) const {
    const ReplicaState* const found = std::ranges::find(*this, status, &ReplicaState::status);
    return found == end() ? nullptr : found;
  }
  int id_of(const ReplicaState& state) const { return static_cast<int>(&state - first_); }

 private:
  static constexpr std::size_t kFew = 8;

  std::array<ReplicaState, kFew> few_{};
  std::size_t size_;
  std::vector<ReplicaState> many_;  // Empty if `few_` is enough.
  ReplicaState* first_;
};

}  // namespace belfry::detail
