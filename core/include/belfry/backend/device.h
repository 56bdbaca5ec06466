// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/event.h"
#include "belfry/backend/stream.h"
#include "belfry/device_spec.h"

#include <cstddef>
#include <memory>

namespace belfry {

/// What a device's allocator has handed out.
struct MemoryUse {
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  std::size_t limit_bytes = 0;  ///< 0: no limit known.
  std::size_t live_buffers = 0;
};

/// One device of a backend.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Position in the backend, from 0.
  virtual int index() const = 0;
  virtual DeviceSpec spec() const = 0;
  /// Memory usable by work enqueued on `stream` from here on. Contents are undefined; the simulator
  /// reports a read of bytes nobody wrote. Zero bytes are allowed.
  /// Order: the host does not block. Throws: DeviceError (kOutOfMemory).
  virtual BufferPtr allocate(std::size_t bytes, Stream& stream) = 0;
  /// Where tensors of this device are computed.
  virtual Stream& compute_stream() = 0;
  /// Where collectives of this device run.
  virtual Stream& communication_stream() = 0;
  /// A further stream. What is enqueued on it is carried out even when it is destroyed, which may
  /// block the host.
  virtual std::unique_ptr<Stream> create_stream() = 0;
  /// An event that was never recorded, for any stream of the backend.
  virtual std::unique_ptr<Event> create_event() = 0;
  virtual MemoryUse memory() const = 0;
};

}  // namespace belfry
