// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/forwarding_executor.h"
#include "schedule/replay.h"

#include <memory>
#include <utility>

namespace belfry::sim {

/// Carries as `inner` does, and throws after a run in which the recorded choices did not fit.
class ReplayExecutor final : public ForwardingExecutor {
 public:
  ReplayExecutor(std::unique_ptr<Executor> inner, const Replay& replay)
      : ForwardingExecutor(std::move(inner)), replay_(replay) {}

  void carry(int replicas, Job& job, const CarryOptions& options) override {
    ForwardingExecutor::carry(replicas, job, options);
    replay_.throw_misfit();
  }

 private:
  const Replay& replay_;
};

}  // namespace belfry::sim
