// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"

#include <cstddef>

namespace belfry {

/// A second base of a Device whose memory the host uses in place. Core looks for the base with a
/// dynamic_cast: reductions over several processes send elements from the memory, and receive
/// elements into the memory (SEM-220). Devices without the base copy.
class HostVisibleDevice {
 public:
  HostVisibleDevice() = default;
  HostVisibleDevice(const HostVisibleDevice&) = delete;
  HostVisibleDevice& operator=(const HostVisibleDevice&) = delete;
  virtual ~HostVisibleDevice() = default;

  /// The address of a view's elements, for reads of the host; null for no elements. The address is
  /// valid as long as the caller has a reference to the buffer, and no work writes the buffer.
  /// Order: blocks the host until the compute stream has done its present work.
  /// Throws: as Stream::read.
  virtual const std::byte* read_in_place(const BufferView& view) = 0;
  /// The address of the elements of a buffer that is new, and that no work uses. The host writes
  /// all elements before the first work with the buffer; they count as written from now on.
  /// Order: the host does not block.
  /// Throws: InvalidArgumentError for a view that is not in the buffer; std::bad_alloc.
  virtual std::byte* fill_in_place(const BufferView& view) = 0;
};

}  // namespace belfry
