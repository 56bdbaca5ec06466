// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace belfry {

/// A group of processes, as a process sees the group (SEM-150). All processes make the
/// same calls of a group in the same order. A group is for one thread at a time. Errors of every
/// exchange:
/// - ProcessLostError (kProcessLost) if a process has left the group; every later call throws the
///   error again;
/// - MergeMismatchError (kMergeKinds) in all processes if the calls differ. The group stays usable.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup() = default;

  /// The number of this process, from 0 to size() - 1.
  virtual int rank() const = 0;
  virtual int size() const = 0;  ///< The number of processes.
  /// The bytes of every process, in order of rank, in every process. Lengths may differ.
  /// Order: blocks the host until all processes have called.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;
  /// The bytes of process `from`, in every process; the bytes of all others are ignored.
  /// Order: blocks the host until all processes have called. Throws: InvalidArgumentError
  /// (kInvalidArgument) for a rank outside the group, before anything is exchanged.
  virtual std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) = 0;

  /// For belfry itself: the number of the next strategy of this group.
  std::uint64_t next_strategy() { return strategies_++; }

 private:
  std::uint64_t strategies_ = 0;
};

/// The group of a lone program: process 0 of 1. No call waits.
class SingleProcess final : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override;
};

namespace detail {

/// Throws: InvalidArgumentError (kInvalidArgument) unless `from` is a rank of `group`.
void require_rank(const ProcessGroup& group, int from);

}  // namespace detail
}  // namespace belfry
