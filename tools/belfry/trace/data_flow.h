// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace belfry::tool {

/// The work that computed the values of each buffer of a trace. The trace outlives the object.
class DataFlow {
 public:
  explicit DataFlow(const Trace& trace);

  /// The enqueueing of work, or null.
  const TraceStep* enqueued_by(const TraceStep& work) const;
  /// The number of the step; of work, the number of the enqueueing.
  std::int64_t place_of(const TraceStep& step) const;
  /// The last work that wrote the buffer before the step, in the order of the program; or null.
  const TraceStep* producer_of(std::int64_t buffer, const TraceStep& step) const;
  /// The index of a step of the trace.
  std::size_t index_of(const TraceStep& step) const {
    return static_cast<std::size_t>(&step - trace_.steps.data());
  }

 private:
  const Trace& trace_;
  // The work on each buffer: place in the program, index.
  std::map<std::int64_t, std::set<std::pair<std::int64_t, std::size_t>>> writes_;
};

}  // namespace belfry::tool
