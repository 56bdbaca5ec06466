// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "device.h"

namespace belfry::cuda {

/// The number of replicas on a device, as float and as double: MEAN is a true division by the
/// number. Made in advance: to enqueue a division then allocates no memory.
class Divisor {
 public:
  /// Order: blocks the host.
  Divisor(Device& device, int value);

  /// Enqueues `view` = `view` / value on `stream`. The view has type float or double.
  void divide(const BufferView& view, belfry::Stream& stream) const;

 private:
  BufferPtr buffer_;
};

}  // namespace belfry::cuda
