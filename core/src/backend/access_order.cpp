// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"

#include <utility>

namespace belfry::detail {

void launch_in_order(Stream& stream, Kernel&& kernel) {
  // Operands often have neighbours in one buffer.
  const Buffer* latest = nullptr;
  for (const BufferView& input : kernel.inputs) {
    if (std::exchange(latest, input.buffer.get()) != input.buffer.get()) order_read(stream, input);
  }
  latest = nullptr;
  for (const BufferView& output : kernel.outputs) {
    if (std::exchange(latest, output.buffer.get()) != output.buffer.get())
      order_write(stream, output);
  }
  stream.launch(std::move(kernel));
}

void copy_in_order(Stream& stream, const BufferView& to, const BufferView& from) {
  order_read(stream, from);
  order_write(stream, to);
  stream.copy(to, from);
}

void leave_read(const BufferView& view, const StreamPointPtr& point) {
  if (view.buffer->is_foreign()) {
    point->precede(view.buffer->device().compute_stream());
  } else {
    view.buffer->pending_accesses().add_read(point);
  }
}

void leave_write(const BufferView& view, const StreamPointPtr& point) {
  view.buffer->pending_accesses().add_write(point);
}

}  // namespace belfry::detail
