// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "stream_handle.h"

#include <cstddef>
#include <memory>

namespace belfry::cuda {

/// Memory of a device, allocated and freed in the order of its home stream.
class HomeMemory {
 public:
  /// Throws: DeviceError (kOutOfMemory).
  HomeMemory(std::shared_ptr<StreamHandle> home, std::size_t bytes);
  HomeMemory(const HomeMemory&) = delete;
  HomeMemory& operator=(const HomeMemory&) = delete;
  ~HomeMemory();

  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  const std::shared_ptr<StreamHandle>& home() const { return home_; }

 private:
  std::shared_ptr<StreamHandle> home_;  // with the stream and buffers
  std::size_t bytes_;
  void* address_;
};

/// A handle of device memory, or of memory of the program's own. Work on the home stream needs no
/// hold on the memory; work on other streams keeps the memory alive (Stream::Hold). Work keeps the
/// memory or the owner, and never the buffer: the references to a buffer are handles.
class Buffer final : public belfry::Buffer {
 public:
  Buffer(belfry::Device& device, std::shared_ptr<HomeMemory> memory);
  /// Over memory of the program's own. `everywhere`: every GPU can use the memory.
  Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, ForeignMemory memory,
         bool everywhere);
  ~Buffer() override;

  const StreamHandle& home() const { return *home_; }
  DeviceState& state() const { return home_->device(); }
  /// The owner of the bytes: the memory of the device, or the owner of the program's memory, or
  /// null.
  const std::shared_ptr<const void>& kept() const { return kept_; }
  /// Whether kernels on `gpu` can use the memory.
  bool reachable_from(int gpu) const;

 private:
  std::shared_ptr<StreamHandle> home_;  // with the stream, which may end first
  std::shared_ptr<const void> kept_;    // with the work in flight, and perhaps the program
  bool everywhere_ = false;
};

}  // namespace belfry::cuda
