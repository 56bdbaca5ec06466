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

WideParts::WideParts(const Collective& collective)
    : given_(collective.parts), parts_(collective.parts) {
  const DType dtype = given_[0].input.dtype;
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) return;
  const bool scatters = collective.kind == CollectiveKind::kReduceScatter;
  int rank = collective.first;
  for (const CollectivePart& part : given_) {
    const std::size_t bytes = part.input.count * sizeof(float);
    const BufferPtr buffer = part.stream->device().allocate(bytes, *part.stream);
    const BufferView view = view_of(buffer, DType::kFloat32);
    temporaries_.push_back({view, scatters ? collective.slice(view, rank) : view, part.stream});
    ++rank;
  }
  parts_ = temporaries_;
  for (std::size_t place = 0; place < parts_.size(); ++place) {
    cast(parts_[place].input, given_[place].input, *given_[place].stream);
  }
}

void WideParts::round(std::size_t place) const {
  if (temporaries_.empty()) return;
  cast(given_[place].output, parts_[place].output, *given_[place].stream);
}

}  // namespace belfry::cuda
