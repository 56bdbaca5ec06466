// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/dlpack.h"
#include "belfry/tensor.h"

#include <cstdint>
#include <optional>

namespace belfry::detail {

/// The exchange of memory of a device. Throws: UnsupportedError (kUnsupported) if the device has
/// none; as device_of.
ForeignMemoryDevice& exchange_of(const Placement& placement, CallSite site);

/// Throws: InvalidArgumentError (kShape) for more bytes than fit 63 bits.
void require_byte_count(DType dtype, const Shape& shape, CallSite site);

/// The place of a device's memory in the words of DLPack.
dlpack::Device dlpack_device(const MemoryPlace& place);

/// The element type in the words of DLPack.
dlpack::DataType dlpack_type(DType dtype);
/// The element type for a name of DLPack; none for a type without a DType.
std::optional<DType> dtype_of_dlpack(const dlpack::DataType& type);

/// The stream to order with: none for -1, and 1 without a number. Throws: InvalidArgumentError
/// (kInvalidArgument) for 0 and for numbers below -1.
std::optional<std::int64_t> stream_to_order(std::optional<std::int64_t> number, CallSite site);

}  // namespace belfry::detail
