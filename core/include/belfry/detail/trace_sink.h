// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/trace_recorder.h"
#include "belfry/trace.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace belfry::detail {

/// Writes the steps of replicas into a trace, for backends whose devices tell nothing, and hands
/// every operation on.
class TraceSink final : public OperationSink, public VariableTap {
 public:
  /// `next` may be null. Throws: InvalidArgumentError (kInvalidArgument) for a trace with steps.
  TraceSink(TraceFile& trace, const TraceHeader& header, OperationSink* next, CallSite site);

  void on_operation(const Operation& operation) override;
  void made(const std::shared_ptr<const VariableView>& variable) noexcept override;
  void changed(const VariableView& variable) noexcept override;

 private:
  // `ordinal` is the number of the run among the runs of its strategy.
  struct Run {
    std::uint64_t ordinal = 0;
    std::uint32_t number = 0;
  };

  TraceActor actor_of(const Operation& operation) const;
  TraceActor actor_here() const;

  TraceRecorder recorder_;
  OperationSink* next_;
  std::vector<Run> open_;
  std::uint32_t begun_ = 0;
};

}  // namespace belfry::detail
