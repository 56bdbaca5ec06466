// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "stream_handle.h"

#include <memory>

namespace belfry::cuda {

/// Device memory, allocated and freed in the order of its home stream. Work on the home stream
/// needs no hold on the buffer; work on other streams keeps the buffer alive (Stream::hold).
class Buffer final : public belfry::Buffer {
 public:
  Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, std::size_t bytes);
  ~Buffer() override;

  const StreamHandle& home() const { return *home_; }
  DeviceState& state() const { return home_->device(); }

 private:
  std::shared_ptr<StreamHandle> home_;  // with the stream, which may end first
};

}  // namespace belfry::cuda
