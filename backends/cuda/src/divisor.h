// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "device.h"

namespace belfry::cuda {

/// The number of replicas on a device, as float and as double, so that MEAN is one true division by
/// it. Made before it is needed: to enqueue a division takes no memory.
class Divisor {
 public:
  /// Order: blocks the host.
  Divisor(Device& device, int value);

  /// Enqueues `view` = `view` / value on `stream`. The view is of one of these two types.
  void divide(const BufferView& view, belfry::Stream& stream) const;

 private:
  BufferPtr buffer_;
};

}  // namespace belfry::cuda
