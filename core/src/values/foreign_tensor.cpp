// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/buffer.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/error.h"
#include "belfry/tensor.h"
#include "values/memory_exchange.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace belfry::detail {
namespace {

void require_memory(const Shape& shape, const ForeignMemory& memory, CallSite site) {
  if (memory.address != nullptr || memory.bytes == 0) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "null in place of the memory of a tensor " + to_string(shape),
                             "pass a span over memory; a tensor without elements needs none", site);
}

void require_fit(DType dtype, const Shape& shape, const ForeignMemory& memory, CallSite site) {
  const std::size_t element = size_of(dtype);
  const std::size_t count = memory.bytes / element;
  if (memory.bytes % element != 0 || count != static_cast<std::size_t>(shape.count())) {
    throw InvalidArgumentError(ErrorCode::kShape,
                               fmt::format("{} bytes of memory for shape {} of {}", memory.bytes,
                                           to_string(shape), to_string(dtype)),
                               "give memory for each element, and no more", site);
  }
  if (reinterpret_cast<std::uintptr_t>(memory.address) % element == 0) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      fmt::format("memory at an address that is not a multiple of the {} bytes of {}", element,
                  to_string(dtype)),
      "align the memory to its elements, or copy them with Tensor::from", site);
}

}  // namespace

AnyTensor make_over(DType dtype, Shape shape, ForeignMemory memory, Placement placement,
                    CallSite site) {
  const SiteScope scope(site);
  require_byte_count(dtype, shape, site);
  require_fit(dtype, shape, memory, site);
  require_memory(shape, memory, site);
  touched(memory.address, memory.bytes, !memory.read_only, site);
  ForeignMemoryDevice& exchange = exchange_of(placement, site);
  BufferPtr buffer = exchange.adopt(std::move(memory), device_of(placement).compute_stream());
  const auto count = static_cast<std::size_t>(shape.count());
  return {BufferView{std::move(buffer), 0, count, dtype}, std::move(shape), placement};
}

}  // namespace belfry::detail
