// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/event.h"
#include "belfry/backend/kernel.h"

namespace belfry {

class Device;

/// A queue of work on one device, executed first in, first out. Every call but `read` and
/// `synchronize` enqueues and returns; the work holds its buffers until it is done. Two streams are
/// ordered by events alone.
/// Throws: InvalidArgumentError (kOutOfBounds, kForeignObject, kDType, kShape, and as `validate` of
/// belfry/backend/kernel.h) before anything is enqueued; DeviceError for what the device reports;
/// UnsupportedError (kUnsupported) for kernels that it cannot run; ContextError (kStrategyBusy)
/// where threads have to take turns (SEM-9).
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  virtual Device& device() = 0;
  /// Enqueues a kernel. Inputs and outputs may live on any device of the backend (peer access).
  virtual void launch(Kernel kernel) = 0;
  /// Enqueues a copy of equally many bytes between any two devices of the backend.
  virtual void copy(BufferView to, BufferView from) = 0;
  /// Enqueues a copy from host memory. `from` may be reused as soon as the call returns.
  virtual void write(BufferView to, const void* from) = 0;
  /// Copies to host memory, from.bytes() bytes, after all earlier work of this stream.
  /// Order: blocks the host. Throws: DeviceError also for earlier work that failed (SEM-74).
  virtual void read(void* to, BufferView from) = 0;
  /// Sets `event`, of this backend, to what is enqueued so far.
  virtual void record(Event& event) = 0;
  /// Later work of this stream starts after the latest record of `event`, which may belong to any
  /// device of the backend.
  virtual void wait(Event& event) = 0;
  /// Order: blocks the host until all work enqueued so far is done. Throws: as read.
  virtual void synchronize() = 0;
};

}  // namespace belfry
