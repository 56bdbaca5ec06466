// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "belfry/backend/kernel_failures.h"
#include "engine/block_pool.h"
#include "engine/engine.h"
#include "engine/foreign_owners.h"

#include <cstdint>
#include <memory>
#include <string>

namespace belfry::sim {

struct Shared;

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

}  // namespace belfry::sim
