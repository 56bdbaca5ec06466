// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/foreign_memory.h"
#include "stream_handle.h"

#include <memory>

namespace belfry::cuda {

/// Device memory, allocated and freed in the order of its home stream. Work on the home stream
/// needs no hold on the buffer; work on other streams keeps the buffer alive (Stream::Hold). Work
/// with memory of the program's own keeps the owner alive, and never the buffer.
class Buffer final : public belfry::Buffer {
 public:
  Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, std::size_t bytes);
  /// Over memory of the program's own. `everywhere`: every GPU can use the memory.
  Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, ForeignMemory memory,
         bool everywhere);
  ~Buffer() override;

  const StreamHandle& home() const { return *home_; }
  DeviceState& state() const { return home_->device(); }
  /// The owner of memory of the program's own, or null.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  /// Whether kernels on `gpu` can use the memory.
  bool reachable_from(int gpu) const;

 private:
  std::shared_ptr<StreamHandle> home_;  // with the stream, which may end first
  std::shared_ptr<const void> owner_;   // with the program and the work in flight
  bool everywhere_ = false;
};

}  // namespace belfry::cuda
