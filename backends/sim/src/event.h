// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "caller_scope.h"
#include "engine/engine.h"

#include <memory>
#include <utility>

namespace belfry::sim {

class SimEvent final : public Event {
 public:
  SimEvent(std::shared_ptr<engine::Engine> engine, std::shared_ptr<engine::ForeignOwners> owners)
      : engine_(std::move(engine)), owners_(std::move(owners)) {
    point_.name = engine_->name_event();
  }

  void synchronize() override {
    const CallerScope caller(*engine_, __builtin_return_address(0));
    engine_->synchronize(point_);
    owners_->release_ended();
  }
  bool query() override {
    const CallerScope caller(*engine_, __builtin_return_address(0));
    return engine_->query(point_);
  }

  engine::EventPoint& point() { return point_; }
  const engine::Engine& engine() const { return *engine_; }

 private:
  // Shared with the backend, which an event may outlive unused.
  std::shared_ptr<engine::Engine> engine_;
  std::shared_ptr<engine::ForeignOwners> owners_;  // The same.
  engine::EventPoint point_;
};

/// `event` as one of `engine`. Throws: InvalidArgumentError (kForeignObject).
SimEvent& event_of(Event& event, const engine::Engine& engine);

}  // namespace belfry::sim
