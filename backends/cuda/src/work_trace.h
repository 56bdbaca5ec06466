// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/executor.h"
#include "belfry/detail/trace_writer.h"

#include <cstdint>
#include <string_view>

namespace belfry::cuda {

/// A stream, by its place among the streams of its device.
struct StreamPlace {
  int device = 0;
  int ordinal = 0;  ///< 0: of computation, 1: of communication.
};

/// Until the end of the scope the calling thread gives streams work of the library's own, which a
/// trace does not tell: parts of a collective, and what a communicator needs.
class UntoldWork {
 public:
  UntoldWork() { ++depth_; }
  UntoldWork(const UntoldWork&) = delete;
  UntoldWork& operator=(const UntoldWork&) = delete;
  ~UntoldWork() { --depth_; }

  static bool any() { return depth_ > 0; }

 private:
  static constinit thread_local int depth_;
};

/// Writes the work of streams into the trace of a backend: what they get, and what the host reads.
class WorkTrace {
 public:
  WorkTrace(belfry::detail::TraceWriter& writer, const Executor& executor)
      : writer_(writer), executor_(executor) {}

  /// Work number `item` of the stream, from 1.
  void enqueued(const StreamPlace& stream, std::uint64_t item,
                std::string_view name) const noexcept;
  /// The host has read the elements of `from` to `to`.
  void read(const BufferView& from, const void* to) const noexcept;

 private:
  belfry::detail::TraceStep step_of(std::string_view kind) const;

  belfry::detail::TraceWriter& writer_;
  const Executor& executor_;
};

}  // namespace belfry::cuda
