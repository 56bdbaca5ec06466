// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "peer_work.h"

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

namespace belfry::cuda {

/// The ranks of NCCL's communicators over the GPUs of several processes, for each of the processes.
struct NcclSpan {
  ncclUniqueId id{};  ///< Equal in all processes.
  int size = 0;       ///< The number of GPUs in all processes.
  int first = 0;      ///< The rank of the first GPU of this process.
  Peers peers;
};

/// The NCCL communicators of a clique, one for each GPU of this process, made and ended together.
/// No call blocks: a call may return "in progress", and `wait` polls for the end with a deadline.
class NcclCommunicators {
 public:
  /// Without a span all GPUs are of the same process.
  /// Throws: DeviceError when NCCL reports an error or the deadline passes. With a span also
  /// ProcessLostError; UnsupportedError if NCCL does not join the GPUs, for example two processes
  /// on the same GPU.
  NcclCommunicators(std::vector<int> gpus, std::chrono::milliseconds deadline,
                    std::optional<NcclSpan> span);
  /// Communicators of the program's, which are neither aborted nor ended.
  NcclCommunicators(std::vector<int> gpus, std::chrono::milliseconds deadline,
                    std::optional<NcclSpan> span, std::vector<ncclComm_t> programs);
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;
  /// Ends the communicators in order, or by force after a failure. Requires that their work is
  /// done.
  ~NcclCommunicators();

  ncclComm_t operator[](int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  /// The rank of the first GPU of the process.
  int first() const { return span_ ? span_->first : 0; }
  /// Waits until NCCL has accepted the calls made before; work may then be enqueued. Returns
  /// whether the host had to wait. Throws: DeviceError; ProcessLostError.
  bool wait(const char* what);
  /// Throws: DeviceError if NCCL has reported an error for a communicator, now or before.
  void check();
  /// Whether NCCL has reported an error, or `give_up` was called. A failed communicator is of no
  /// further use.
  bool failed() const { return failed_.load(); }
  /// Throws: DeviceError if the communicators have failed.
  void require_usable() const;
  /// Ends the communicators by force, at once, even during a collective that only some members got.
  /// The streams of these members would wait for ever.
  void give_up() noexcept;

 private:
  void init();
  bool is_refused() const noexcept;
  [[noreturn]] void throw_late(const char* what, std::size_t rank) const;
  ncclResult_t state_of(std::size_t rank) const;
  bool has_lost_peers() const noexcept;
  bool wait_quietly() const noexcept;
  void end() noexcept;
  bool finalize() noexcept;
  void abort() noexcept;

  std::vector<int> gpus_;
  std::chrono::milliseconds deadline_;
  std::optional<NcclSpan> span_;
  std::vector<ncclComm_t> comms_;
  bool are_programs_ = false;
  std::atomic<bool> failed_{false};
};

}  // namespace belfry::cuda
