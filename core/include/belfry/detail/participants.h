// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The processes of a strategy over several processes.
struct ProcessTable {
  std::vector<int> first;  ///< The lowest replica of each process, then the number of replicas.
  int own = 0;             ///< This process.

  int process_of(int replica) const {
    return static_cast<int>(std::ranges::upper_bound(first, replica) - first.begin()) - 1;
  }
};

/// The replicas that take part in a run, or have a component of a value: all of them, some
/// (SEM-90), or none of this process (SEM-211).
class Participants {
 public:
  Participants() = default;
  /// All of `replicas`.
  explicit Participants(int replicas) : replicas_(replicas) {}
  /// `ids` are ascending and below `replicas`.
  Participants(int replicas, std::vector<int> ids)
      : replicas_(replicas), all_(static_cast<int>(ids.size()) == replicas), ids_(std::move(ids)) {
    if (all_) ids_.clear();
  }

  /// Some of the replicas of this process, with the processes of `own`.
  Participants(const Participants& own, std::vector<int> ids)
      : Participants(own.replicas_, std::move(ids)) {
    processes_ = own.processes_;
  }
  /// The replicas of this process among those of several processes.
  explicit Participants(ProcessTable processes)
      : Participants(processes.first.back(), ids_of(processes)) {
    processes_ = std::make_shared<const ProcessTable>(std::move(processes));
  }

  /// The number of replicas of the strategy, absent replicas included.
  int replicas() const { return replicas_; }
  int count() const { return is_all() ? replicas_ : static_cast<int>(ids_.size()); }
  bool is_all() const { return all_; }
  bool has(int replica) const { return is_all() || std::ranges::binary_search(ids_, replica); }
  /// The `position`-th participant.
  int id(int position) const {
    return is_all() ? position : ids_[static_cast<std::size_t>(position)];
  }
  /// The position of `replica`, a participant, among the participants.
  int position(int replica) const {
    if (is_all()) return replica;
    return static_cast<int>(std::ranges::lower_bound(ids_, replica) - ids_.begin());
  }

  /// For messages; null for a single process.
  const ProcessTable* processes() const { return processes_.get(); }

  bool operator==(const Participants& other) const {
    return replicas_ == other.replicas_ && all_ == other.all_ && ids_ == other.ids_;
  }

 private:
  static std::vector<int> ids_of(const ProcessTable& processes) {
    const auto own = processes.first.begin() + processes.own;
    std::vector<int> ids(static_cast<std::size_t>(own[1] - own[0]));
    std::iota(ids.begin(), ids.end(), own[0]);
    return ids;
  }

  int replicas_ = 0;
  bool all_ = true;
  std::vector<int> ids_{};  // Empty if all.
  // Shared with the strategy: values may outlive the strategy.
  std::shared_ptr<const ProcessTable> processes_{};
};

/// A contiguous array filled once, element by element. Unlike std::vector, ReplicaArray has no
/// special case for bool, and T needs only the functions that are called.
template <class T>
class ReplicaArray {
 public:
  ReplicaArray() = default;
  explicit ReplicaArray(int capacity)
      : data_(capacity > 0 ? std::allocator<T>().allocate(static_cast<std::size_t>(capacity))
                           : nullptr),
        capacity_(capacity) {}
  /// In `storage`, with room for `capacity` elements. The storage outlives the array, and every
  /// array to which it is moved; copies have storage of their own.
  ReplicaArray(std::byte* storage, int capacity)
      : data_(reinterpret_cast<T*>(storage)), capacity_(-capacity) {}
  ReplicaArray(const ReplicaArray& other) : ReplicaArray(other.size_) {
    for (const T& value : other) emplace_back(value);
  }
  ReplicaArray(ReplicaArray&& other) noexcept { swap(other); }
  ReplicaArray& operator=(ReplicaArray other) noexcept {
    swap(other);
    return *this;
  }
  ~ReplicaArray() {
    std::destroy_n(data_, size_);
    if (capacity_ > 0) {
      std::allocator<T>().deallocate(data_, static_cast<std::size_t>(capacity_));
    }
  }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    T* place = std::construct_at(data_ + size_, std::forward<Args>(args)...);
    ++size_;
    return *place;
  }

  int size() const { return size_; }
  T& operator[](int index) { return data_[index]; }
  const T& operator[](int index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void swap(ReplicaArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
  }

 private:
  T* data_ = nullptr;
  int capacity_ = 0;  // Negative where the storage is another's.
  int size_ = 0;
};

}  // namespace belfry::detail
