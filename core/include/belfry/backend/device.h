// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/event.h"
#include "belfry/backend/stream.h"
#include "belfry/detail/prints.h"
#include "belfry/device_spec.h"

#include <cstddef>
#include <memory>
#include <string>

namespace belfry {

/// Counters of a device's allocator.
struct MemoryUse {
  std::size_t live_bytes = 0;    ///< In buffers that exist now.
  std::size_t peak_bytes = 0;    ///< The most that existed at once.
  std::size_t limit_bytes = 0;   ///< 0: no known limit.
  std::size_t live_buffers = 0;  ///< The number of buffers that exist now.
};

/// `96 bytes live in 2 buffers, 128 at the peak, limit 4096`; no limit, no last part.
std::string to_string(const MemoryUse& use);

namespace detail {
template <>
inline constexpr bool kPrints<MemoryUse> = true;
}  // namespace detail

/// A device of a backend.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Position in the backend, from 0.
  virtual int index() const = 0;
  virtual DeviceSpec spec() const = 0;  ///< The name of the device.
  /// Memory for work enqueued on `stream` from now on. Contents are undefined; the simulator
  /// reports reads of bytes that were never written. Zero bytes are allowed.
  /// Order: the host does not block.
  /// Throws: DeviceError (kOutOfMemory).
  virtual BufferPtr allocate(std::size_t bytes, Stream& stream) = 0;
  /// The stream of computations with this device's tensors.
  virtual Stream& compute_stream() = 0;
  /// The stream of this device's collectives.
  virtual Stream& communication_stream() = 0;
  /// Another stream. Work enqueued before the stream's destruction is still carried out; the
  /// destructor may block the host.
  virtual std::unique_ptr<Stream> create_stream() = 0;
  /// A new event, without a record, for any stream of the backend.
  virtual std::unique_ptr<Event> create_event() = 0;
  virtual MemoryUse memory() const = 0;  ///< The counters of the allocator.
};

}  // namespace belfry
