// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/trace.h"

#include <string>

namespace belfry::detail {

/// Gives traces to the simulated backends to which the program gives none: belfry::testing traces
/// the backends of a failing case. Backends of clusters and of explorations do not ask.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  /// The trace of the backend that is being made; null: none.
  virtual TraceFile* next() = 0;
  /// The backend of `trace` has ended. `options` are code: the backend's, with its schedule as a
  /// replay.
  virtual void ended(TraceFile& trace, const std::string& options) noexcept = 0;
};

/// The source of the calling thread; usually null.
extern constinit thread_local TraceSource* trace_source;

}  // namespace belfry::detail
