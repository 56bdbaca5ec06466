// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/backend/kernel_failures.h"
#include "engine/allocation.h"
#include "engine/block_pool.h"
#include "engine/engine.h"
#include "watch/host_watch.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace belfry::sim {

struct Shared;

/// The call site of a function without a parameter for call sites, until the end of the scope:
/// streams, events and communicators have such functions. In a program with watched code the line
/// tables have the line of the call, and the call's errors and work get the line, unless a verb
/// around the call has set a site.
class CallerScope {
 public:
  /// `return_address` is the function's; `views` are as of Engine::called_from.
  template <class... Views>
  CallerScope(engine::Engine& engine, const void* return_address, const Views&... views) {
    engine.called_from(return_address, views...);
    if (!detail::submitting_site().empty() || !watch::linked() || !has_place()) return;
    scope_.emplace(watch::source_site(static_cast<const char*>(return_address) - 1));
  }
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  // Replicas without a context, of an executor alone, have a common place for a site.
  static bool has_place() {
    return detail::current_slot() != nullptr || detail::current_replica_id() < 0;
  }

  std::optional<detail::SiteScope> scope_;
};

/// A queue of the engine, dressed as a stream.
class SimStream final : public Stream {
 public:
  SimStream(Device& device, const Shared& shared, engine::QueueOptions options);
  ~SimStream() override;

  Device& device() override { return device_; }
  void launch(Kernel kernel) override;
  void copy(BufferView to, BufferView from) override;
  void write(BufferView to, const void* from) override;
  void read(void* to, BufferView from) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void synchronize() override;

  engine::CommandQueue& queue() { return queue_; }
  const engine::Engine& engine() const { return *engine_; }

 private:
  // The work of `command`, which launches a kernel of a user.
  void prepare_body(const Kernel& kernel, engine::Command& command);

  Device& device_;
  // Shared with the backend, for an unused stream may outlive the backend.
  std::shared_ptr<engine::Engine> engine_;
  // Shared with the backend: a host wait releases owners whose memory is no longer used.
  std::shared_ptr<engine::ForeignOwners> owners_;
  // Shared with the writes in flight: the blocks keep the bytes to write.
  std::shared_ptr<engine::BlockPool> staging_;
  // Shared with the backend.
  std::shared_ptr<KernelFailures> kernel_failures_;
  bool check_kernels_;
  engine::CommandQueue& queue_;
};

/// `stream` as a stream of `engine`. Throws: InvalidArgumentError (kForeignObject).
SimStream& stream_of(Stream& stream, const engine::Engine& engine);

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
