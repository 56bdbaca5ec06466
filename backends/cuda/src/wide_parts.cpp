// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "wide_parts.h"

#include "belfry/backend/device.h"
#include "belfry/backend/kernel.h"

#include <cstddef>

namespace belfry::cuda {
namespace {

void cast(const BufferView& to, const BufferView& from, belfry::Stream& stream) {
  Kernel kernel;
  kernel.kind = KernelKind::kCast;
  kernel.outputs = {to};
  kernel.inputs = {from};
  stream.launch(std::move(kernel));
}

}  // namespace

WideParts::WideParts(std::span<const CollectivePart> parts) : given_(parts), parts_(parts) {
  const DType dtype = parts[0].input.dtype;
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) return;
  for (const CollectivePart& part : parts) {
    const std::size_t bytes = part.input.count * sizeof(float);
    const BufferPtr buffer = part.stream->device().allocate(bytes, *part.stream);
    const BufferView view = view_of(buffer, DType::kFloat32);
    temporaries_.push_back({view, view, part.stream});
  }
  parts_ = temporaries_;
  for (std::size_t place = 0; place < parts.size(); ++place) {
    cast(parts_[place].input, given_[place].input, *given_[place].stream);
  }
}

void WideParts::round(std::size_t place) const {
  if (temporaries_.empty()) return;
  cast(given_[place].output, parts_[place].output, *given_[place].stream);
}

}  // namespace belfry::cuda
