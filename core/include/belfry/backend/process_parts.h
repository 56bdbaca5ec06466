// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace belfry {

/// A part of a value, on its way to a process.
struct SentPart {
  int to = 0;  ///< The rank of another process.
  /// The bytes, unchanged during the call. Shared: a call that fails may leave the part underway.
  std::shared_ptr<const std::byte> bytes{};
  std::size_t count = 0;  ///< The number of bytes, at least 1.
};

/// A part of a value, on its way from a process.
struct ReceivedPart {
  int from = 0;  ///< The rank of another process.
  /// Room for the bytes. Shared: a call that fails may leave the part underway.
  std::shared_ptr<std::byte> bytes{};
  std::size_t count = 0;  ///< The number of bytes, at least 1.
};

/// A second base of a ProcessGroup that sends bytes from memory of the caller, and receives bytes
/// into memory of the caller, without copies (SEM-220). Core looks for the base with a
/// dynamic_cast; in groups without the base every process gathers the values of all.
class ProcessParts {
 public:
  ProcessParts() = default;
  ProcessParts(const ProcessParts&) = delete;
  ProcessParts& operator=(const ProcessParts&) = delete;
  virtual ~ProcessParts() = default;

  /// Values of at least this many bytes are exchanged in parts. Equal in all processes.
  virtual std::size_t least_bytes() const = 0;
  /// Exchanges parts: every process sends parts to others, and receives parts from others. For
  /// every two processes, the receiver lists the same numbers and sizes as the sender, in the same
  /// order. Returns whether all processes are ready: if a process is not, no part is exchanged.
  /// Order: blocks the host until all processes have called, and all parts of this process have
  /// been sent and received.
  /// Throws: the errors of ProcessGroup.
  virtual bool exchange_parts(bool is_ready, std::span<const SentPart> sent,
                              std::span<const ReceivedPart> received) = 0;
};

}  // namespace belfry

namespace belfry::detail {

/// The processes that reduce tensors together in parts.
struct PartsExchange {
  int rank = 0;  ///< The number of this process.
  /// The first replica of each process, and then the number of all replicas.
  std::vector<int> first_replica{};
  /// GroupMembers::exchange_parts.
  std::function<void(const std::exception_ptr& failure, std::span<const SentPart>,
                     std::span<const ReceivedPart>)>
      exchange{};

  /// The number of processes.
  int processes() const { return static_cast<int>(first_replica.size()) - 1; }
};

}  // namespace belfry::detail
