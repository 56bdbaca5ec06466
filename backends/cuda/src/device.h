// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/device.h"
#include "device_state.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace belfry::cuda {

class Stream;

/// The name of device `index`, or of the host.
DeviceSpec name_of_device(int index, Memory memory);

/// A GPU, one of several devices that share a GPU, or the host.
class Device final : public belfry::Device, public ForeignMemoryDevice {
 public:
  Device(std::shared_ptr<SharedState> shared, Position position, std::span<const int> peers);
  ~Device() override;

  int index() const override { return state_->index(); }
  DeviceSpec spec() const override;
  BufferPtr allocate(std::size_t bytes, belfry::Stream& stream) override;
  BufferPtr adopt(ForeignMemory memory, belfry::Stream& stream) override;
  MemoryPlace memory_place() const override;
  void* lend(const BufferView& view, std::optional<std::int64_t> consumer_stream) override;
  belfry::Stream& compute_stream() override;
  belfry::Stream& communication_stream() override;
  std::unique_ptr<belfry::Stream> create_stream() override;
  std::unique_ptr<belfry::Event> create_event() override;
  MemoryUse memory() const override { return state_->memory(); }

  int gpu() const { return state_->gpu(); }
  bool is_host() const { return state_->is_host(); }
  DeviceState& state() const { return *state_; }
  /// Throws the error that work on this device has reported, if any.
  void check_health();

 private:
  std::shared_ptr<SharedState> shared_;  // with the Backend
  std::shared_ptr<DeviceState> state_;   // with streams and buffers
  std::unique_ptr<Stream> compute_;
  std::unique_ptr<Stream> communication_;
  std::atomic<int> made_ = 2;  // Streams.
};

}  // namespace belfry::cuda
