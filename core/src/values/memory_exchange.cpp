// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "values/memory_exchange.h"

#include "belfry/backend/device.h"
#include "belfry/error.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>

namespace belfry::detail {

ForeignMemoryDevice& exchange_of(const Placement& placement, CallSite site) {
  auto* const exchange = dynamic_cast<ForeignMemoryDevice*>(&device_of(placement));
  if (exchange != nullptr) return *exchange;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "the device shares no memory with code outside of belfry",
                         "copy the elements, with Tensor::from and to_host; for a backend of your "
                         "own, make ForeignMemoryDevice a base of its devices",
                         site);
}

void require_byte_count(DType dtype, const Shape& shape, CallSite site) {
  constexpr std::size_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();
  if (static_cast<std::size_t>(shape.count()) <= kMostBytes / size_of(dtype)) return;
  throw InvalidArgumentError(ErrorCode::kShape,
                             "the bytes of a tensor " + to_string(shape) + " of " +
                                 to_string(dtype) + " do not fit 63 bits",
                             "no memory has room for the tensor: look for an error in the extents",
                             site);
}

dlpack::Device dlpack_device(const MemoryPlace& place) {
  switch (place.kind) {
    case MemoryKind::kGpu:
      return {dlpack::kCuda, place.gpu};
    case MemoryKind::kPinned:
      return {dlpack::kCudaHost, 0};
    case MemoryKind::kHost:
      break;
  }
  return {dlpack::kCpu, 0};
}

dlpack::DataType dlpack_type(DType dtype) {
  constexpr std::uint8_t codes[kNumDTypes] = {
      dlpack::kFloat, dlpack::kFloat, dlpack::kFloat, dlpack::kBfloat, dlpack::kInt,
      dlpack::kInt,   dlpack::kInt,   dlpack::kUInt,  dlpack::kBool,   dlpack::kInt,
      dlpack::kUInt,  dlpack::kUInt,  dlpack::kUInt};
  return {.code = codes[static_cast<std::size_t>(dtype)],
          .bits = static_cast<std::uint8_t>(8 * size_of(dtype))};
}

std::optional<DType> dtype_of_dlpack(const dlpack::DataType& type) {
  for (int number = 0; number < kNumDTypes; ++number) {
    const auto dtype = static_cast<DType>(number);
    const dlpack::DataType own = dlpack_type(dtype);
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return dtype;
  }
  return std::nullopt;
}

std::optional<std::int64_t> stream_to_order(std::optional<std::int64_t> number, CallSite site) {
  constexpr std::int64_t kLegacyDefault = 1;
  constexpr std::int64_t kNoOrder = -1;
  const std::int64_t stream = number.value_or(kLegacyDefault);
  if (stream == 0 || stream < kNoOrder) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument, fmt::format("a stream with the number {}", stream),
        "1 is the legacy default stream of CUDA, 2 the default stream of the thread, -1 none; any "
        "further number is a handle",
        site);
  }
  if (stream == kNoOrder) return std::nullopt;
  return stream;
}

}  // namespace belfry::detail
