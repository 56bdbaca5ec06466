// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/kernel.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/stream_order.h"
#include "belfry/device_spec.h"

#include <cstddef>
#include <memory>
#include <string>

namespace belfry {

class Device;

/// A point in a stream. `Stream::record` sets the point anew; a wait refers to the latest record
/// made before the wait was issued. A wait for an event without a record has no effect, as in CUDA.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// Order: blocks the host until the latest record is reached; a suspended replica lets others
  /// run.
  /// Throws: DeviceError if work before the record failed (SEM-74), or (kDeadlock) if no agent can
  /// continue (SEM-75).
  virtual void synchronize() = 0;
  /// Whether the latest record is reached. The answer depends on the schedule.
  /// Order: does not block.
  virtual bool query() = 0;
};

/// A queue of work on one device, executed first in, first out. Every call but `read` and
/// `synchronize` enqueues and returns; enqueued work holds its buffers until done. Only events
/// order two streams.
/// Throws:
/// - InvalidArgumentError (kOutOfBounds, kForeignObject, kDType, kShape, and as `validate` of
///   belfry/backend/kernel.h) before anything is enqueued;
/// - DeviceError for errors of the device;
/// - UnsupportedError (kUnsupported) for kernels that the device cannot run;
/// - ContextError (kStrategyBusy) if threads must take turns and another thread's run lasts
///   (SEM-9).
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual Device& device() = 0;  ///< The device of the stream.
  /// Enqueues a kernel. Inputs and outputs may be on any device of the backend (peer access).
  virtual void launch(Kernel kernel) = 0;
  /// Enqueues a copy between any two devices of the backend; both views have the same size in
  /// bytes.
  virtual void copy(BufferView to, BufferView from) = 0;
  /// Enqueues a copy from host memory. `from` may be reused after the call.
  virtual void write(BufferView to, const void* from) = 0;
  /// Copies from.bytes() bytes to host memory, after all earlier work of this stream.
  /// Order: blocks the host.
  /// Throws: DeviceError also if earlier work failed (SEM-74).
  virtual void read(void* to, BufferView from) = 0;
  /// Sets `event`, of this backend, to the end of the work enqueued so far.
  virtual void record(Event& event) = 0;
  /// Later work of this stream starts after the latest record of `event`; the event may belong to
  /// any device of the backend.
  virtual void wait(Event& event) = 0;
  /// Order: blocks the host until all work enqueued so far is done.
  /// Throws: as read.
  virtual void synchronize() = 0;

 private:
  friend class detail::StreamPoint;

  detail::StreamOrder order_;
};

/// Counters of a device's allocator.
struct MemoryUse {
  std::size_t live_bytes = 0;    ///< In buffers that exist now.
  std::size_t peak_bytes = 0;    ///< The most that existed at once.
  std::size_t limit_bytes = 0;   ///< 0: no known limit.
  std::size_t live_buffers = 0;  ///< The number of buffers that exist now.
};

/// `96 bytes live in 2 buffers, 128 at the peak, limit 4096`; no limit, no last part.
std::string to_string(const MemoryUse& use);

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
  /// Order: the host does not block; a backend that is short of memory may first wait for the work
  /// that still uses some.
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
