// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/kernel.h"

#include <cstddef>
#include <vector>

namespace belfry {
namespace {

std::vector<KernelOperand> resolve_all(const std::vector<BufferView>& views) {
  std::vector<KernelOperand> operands;
  operands.reserve(views.size());
  for (const BufferView& view : views) {
    auto* const start = static_cast<std::byte*>(view.buffer->address());
    // Empty buffers may have no address, and an offset may not be added to null.
    operands.push_back({view.offset == 0 ? start : start + view.offset, view.count, view.dtype});
  }
  return operands;
}

}  // namespace

KernelCall resolve(const Kernel& kernel) {
  return {kernel.kind, kernel.parameters, resolve_all(kernel.outputs), resolve_all(kernel.inputs),
          kernel.user};
}

}  // namespace belfry
