// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "engine/watch.h"
#include "forwarding_executor.h"

#include <memory>
#include <utility>

namespace belfry::sim {

/// Carries as `inner` does, gives every run a number, and tells an observer of its begin and end.
class WatchedExecutor final : public ForwardingExecutor {
 public:
  WatchedExecutor(std::unique_ptr<Executor> inner, engine::Watch& watch)
      : ForwardingExecutor(std::move(inner)), watch_(watch) {
    watch_.attach(&this->inner());
  }

  void carry(int replicas, Job& job, const CarryOptions& options) override {
    CarryOptions numbered = options;
    numbered.number = watch_.begin_run();
    tell(Observation::Kind::kRunBegan, numbered.number);
    try {
      inner().carry(replicas, job, numbered);
    } catch (...) {
      tell(Observation::Kind::kRunEnded, numbered.number);
      throw;
    }
    tell(Observation::Kind::kRunEnded, numbered.number);
  }

 private:
  void tell(Observation::Kind kind, std::uint32_t run) {
    Observation seen;
    seen.kind = kind;
    seen.actor = watch_.actor();
    seen.run = run;
    seen.site = detail::submitting_site();
    watch_.tell(seen);
  }

  engine::Watch& watch_;
};

}  // namespace belfry::sim
