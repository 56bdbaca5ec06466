// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <chrono>
#include <vector>

namespace belfry::cuda {

/// The NCCL communicators of one clique, one for each GPU, made and ended together. They do not
/// block: every call may answer "in progress", and `wait` polls for its end with a deadline.
class NcclCommunicators {
 public:
  /// Throws: DeviceError when NCCL reports an error or the deadline passes.
  NcclCommunicators(std::vector<int> gpus, std::chrono::milliseconds deadline);
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;
  /// Ends them in order, or by force after a failure. The work on them is done.
  ~NcclCommunicators();

  ncclComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  /// Waits until NCCL has taken in the calls made so far; work may be enqueued behind them then.
  /// Throws: DeviceError.
  void wait(const char* what);
  /// Throws: DeviceError when NCCL has reported an error for any of them, or had before.
  void check();
  /// Whether NCCL has reported an error, or they were given up: good for nothing any more.
  bool failed() const { return failed_; }
  /// Throws: DeviceError when they have failed.
  void require_usable() const;
  /// Ends them by force, at once: also a collective that not every member was given, for which the
  /// others' streams would wait for ever.
  void give_up() noexcept;

 private:
  ncclResult_t state_of(std::size_t rank) const;
  bool wait_quietly() const noexcept;
  void end() noexcept;
  bool finalize() noexcept;
  void abort() noexcept;

  std::vector<int> gpus_;
  std::chrono::milliseconds deadline_;
  std::vector<ncclComm_t> comms_;
  bool failed_ = false;
};

}  // namespace belfry::cuda
