// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim::watch {

/// A set of addresses of code. `add` allocates nothing and calls no function of a library: code in
/// front of any call may use the set.
class CodeAddresses {
 public:
  void add(const void* code) {
    std::size_t at = reinterpret_cast<std::uintptr_t>(code) / 16;
    if (is_full()) return;
    for (;; ++at) {
      std::atomic<const void*>& place = places_[at % places_.size()];
      const void* known = nullptr;
      if (place.compare_exchange_strong(known, code, std::memory_order_relaxed)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      if (known == code) return;
    }
  }
  void clear() {
    if (count_ == 0) return;
    for (auto& place : places_) place = nullptr;
    count_ = 0;
  }
  std::vector<const void*> all() const {
    std::vector<const void*> added;
    if (count_ == 0) return added;
    for (const auto& place : places_) {
      if (const void* const at = place; at != nullptr) added.push_back(at);
    }
    return added;
  }
  /// Whether further addresses are left out.
  bool is_full() const { return count_.load(std::memory_order_relaxed) >= kMost; }

 private:
  static constexpr std::size_t kMost = 1024;

  std::array<std::atomic<const void*>, 2 * kMost> places_{};  // Open addressing.
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace belfry::sim::watch
