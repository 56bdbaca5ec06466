// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "belfry/detail/stream_point.h"

// The order of work of several streams with the same buffers (SEM-245). Memory is allocated, and
// mostly used, in the order of the compute stream of its device. Another stream first waits for the
// present work of the compute stream, and then leaves its access with the buffer. The compute
// stream waits when its next work uses the buffer.
namespace belfry::detail {

/// `stream` is about to read `view`: waits for the pending write.
inline void order_read(Stream& stream, const BufferView& view) {
  PendingAccesses& pending = view.buffer->pending_accesses();
  if (pending.empty()) [[likely]]
    return;
  pending.precede_read(stream, view.buffer->device().compute_stream());
}

/// `stream` is about to write `view`, or hands its bytes to code whose work is not seen: waits for
/// all pending accesses.
inline void order_write(Stream& stream, const BufferView& view) {
  PendingAccesses& pending = view.buffer->pending_accesses();
  if (pending.empty()) [[likely]]
    return;
  pending.precede_write(stream, view.buffer->device().compute_stream());
}

/// Waits for the pending accesses to the operands, then launches.
void launch_in_order(Stream& stream, Kernel&& kernel);
/// Waits for the pending accesses to both views, then copies.
void copy_in_order(Stream& stream, const BufferView& to, const BufferView& from);

/// Leaves a read of `view` that ends at `point`. The compute stream waits at once for reads of
/// memory of the program's own: a second buffer may have the same bytes.
void leave_read(const BufferView& view, const StreamPointPtr& point);
/// Leaves a write of `view`, ordered by order_write, that ends at `point`.
void leave_write(const BufferView& view, const StreamPointPtr& point);

}  // namespace belfry::detail
