// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "replay.h"

#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace belfry::sim {

/// Carries as `inner` does, and throws after a run in which the recorded choices did not fit.
class ReplayExecutor final : public Executor {
 public:
  ReplayExecutor(std::unique_ptr<Executor> inner, const Replay& replay)
      : inner_(std::move(inner)), replay_(replay) {}

  std::string_view name() const override { return inner_->name(); }
  void carry(int replicas, Job& job, const CarryOptions& options) override {
    inner_->carry(replicas, job, options);
    replay_.throw_misfit();
  }
  void announce(const Operation& operation) override { inner_->announce(operation); }
  void step(const Operation& operation) override { inner_->step(operation); }
  void block_until(const Operation& operation, Gate& gate) override {
    inner_->block_until(operation, gate);
  }
  void open(Gate& gate) override { inner_->open(gate); }
  bool on_replica() const override { return inner_->on_replica(); }
  [[noreturn]] void abandon() override {
    inner_->abandon();
    // GCC does not carry the attribute through the virtual call.
    std::terminate();
  }

 private:
  std::unique_ptr<Executor> inner_;
  const Replay& replay_;
};

}  // namespace belfry::sim
