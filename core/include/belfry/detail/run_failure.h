// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace belfry::detail {

struct CurrentContext;

/// Whether a run has failed, for what its replicas ask of devices. The flag is set while no replica
/// of the run can go on, and read on their threads.
class RunFailure {
 public:
  RunFailure() = default;
  RunFailure(const RunFailure&) = delete;
  RunFailure& operator=(const RunFailure&) = delete;

  /// On the replica that `context` is of. Throws: ReplicaCancelled when the run has failed, unless
  /// the replica is being unwound (SEM-7).
  void require_none(const CurrentContext& context) {
    if (has_failed()) [[unlikely]] {
      refuse_work(context);
    }
  }

 protected:
  ~RunFailure() = default;
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  void set_failed() { failed_.store(true, std::memory_order_release); }

 private:
  virtual void refuse_work(const CurrentContext& context) = 0;

  std::atomic<bool> failed_{false};
};

}  // namespace belfry::detail
