// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/backend/backend.h"

#include <cstddef>
#include <memory>

namespace belfry::host {

class HostEvent final : public Event {
 public:
  void synchronize() override {}
  bool query() override { return true; }
};

/// Does everything at once.
class HostStream final : public Stream {
 public:
  explicit HostStream(Device& device) : device_(device) {}

  Device& device() override { return device_; }
  void launch(Kernel kernel) override;
  void copy(BufferView to, BufferView from) override;
  void write(BufferView to, const void* from) override;
  void read(void* to, BufferView from) override;
  void record(Event&) override {}
  void wait(Event&) override {}
  void synchronize() override {}

 private:
  Device& device_;
};

/// Live and peak bytes of a device. Outlives the device, like its buffers.
struct HostMeter {
  MemoryUse use{};
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(int index) : index_(index), compute_(*this), communication_(*this) {}

  int index() const override { return index_; }
  DeviceSpec spec() const override;
  BufferPtr allocate(std::size_t bytes, Stream& stream) override;
  Stream& compute_stream() override { return compute_; }
  Stream& communication_stream() override { return communication_; }
  std::unique_ptr<Stream> create_stream() override { return std::make_unique<HostStream>(*this); }
  std::unique_ptr<Event> create_event() override { return std::make_unique<HostEvent>(); }
  MemoryUse memory() const override { return meter_->use; }

 private:
  int index_;
  HostStream compute_;
  HostStream communication_;
  // Shared with the live buffers.
  std::shared_ptr<HostMeter> meter_ = std::make_shared<HostMeter>();
};

/// The host address of a view. Throws: InvalidArgumentError (kOutOfBounds).
std::byte* address_of(const BufferView& view);

}  // namespace belfry::host
