// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"

#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace belfry::sim {

/// Does everything as `inner` does: the base of executors that add something to a run.
class ForwardingExecutor : public Executor {
 public:
  explicit ForwardingExecutor(std::unique_ptr<Executor> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  void carry(int replicas, Job& job, const CarryOptions& options) override {
    inner_->carry(replicas, job, options);
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

 protected:
  Executor& inner() { return *inner_; }

 private:
  std::unique_ptr<Executor> inner_;
};

}  // namespace belfry::sim
