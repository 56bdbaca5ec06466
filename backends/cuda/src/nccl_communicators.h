// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <chrono>
#include <vector>

namespace belfry::cuda {

/// The NCCL communicators of a clique, one for each GPU, made and ended together. No call blocks: a
/// call may return "in progress", and `wait` polls for the end with a deadline.
class NcclCommunicators {
 public:
  /// Throws: DeviceError when NCCL reports an error or the deadline passes.
  NcclCommunicators(std::vector<int> gpus, std::chrono::milliseconds deadline);
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;
  /// Ends the communicators in order, or by force after a failure. Requires that their work is
  /// done.
  ~NcclCommunicators();

  ncclComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  /// Waits until NCCL has accepted the calls made before; work may then be enqueued behind them.
  /// Throws: DeviceError.
  void wait(const char* what);
  /// Throws: DeviceError if NCCL has reported an error for a communicator, now or before.
  void check();
  /// Whether NCCL has reported an error, or `give_up` was called. A failed communicator is of no
  /// further use.
  bool failed() const { return failed_; }
  /// Throws: DeviceError if the communicators have failed.
  void require_usable() const;
  /// Ends the communicators by force, at once, even during a collective that only some members got.
  /// The streams of these members would wait for ever.
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
