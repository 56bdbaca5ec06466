// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/event.h"
#include "belfry/backend/kernel.h"

namespace belfry {

class Device;

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
};

}  // namespace belfry
