// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/dtype.h"
#include "belfry/process_group.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace belfry {

/// The offers of all processes whose devices are joined, as one process has them.
struct ProcessJoin {
  /// The offers of all processes, in order of rank. An offer is empty if the process has no
  /// devices.
  std::span<const std::vector<std::byte>> offers{};
  int process = 0;  ///< The rank of this process.
  /// The present knowledge about the processes, without an exchange. May be called on any thread,
  /// and as long as the communicator lives.
  std::function<GroupHealth()> health{};
};

/// A second base of a Backend that makes communicators over the devices of several processes
/// (SEM-215). Core looks for the base with a dynamic_cast, and hands the offers round; without the
/// base values travel between processes through host memory.
class ProcessLinks {
 public:
  ProcessLinks() = default;
  ProcessLinks(const ProcessLinks&) = delete;
  ProcessLinks& operator=(const ProcessLinks&) = delete;
  virtual ~ProcessLinks() = default;

  /// The transport: `nccl`. Devices of two processes can be joined if the names are equal.
  virtual std::string_view transport() const = 0;
  /// Whether all_reduce of the communicators takes elements of this type; false for bool.
  virtual bool reduces(DType dtype) const = 0;
  /// Returns the facts about `devices`, of this process, that the other processes need to join
  /// them. `leads` is true in one process, the lowest with devices.
  /// Throws: DeviceError; UnsupportedError (kUnsupported) if the devices cannot be joined.
  virtual std::vector<std::byte> offer(std::span<const int> devices, bool leads) = 0;
  /// Makes a communicator over the devices of all processes: process after process, and in a
  /// process in the order of `devices`, the devices of the offer.
  /// Order: blocks the host until all processes with devices have called.
  /// Throws:
  /// - UnsupportedError (kUnsupported) if the devices cannot be joined;
  /// - ProcessLostError (kProcessLost) if a process is known to be lost;
  /// - DeviceError (kDeviceLost), also after the time limit of the backend or the deadline of the
  ///   group.
  /// Waits of the host for work behind a collective of the communicator throw the same two errors
  /// for a lost process (SEM-217).
  virtual std::unique_ptr<Communicator> join(std::span<const int> devices,
                                             const ProcessJoin& all) = 0;
};

}  // namespace belfry
