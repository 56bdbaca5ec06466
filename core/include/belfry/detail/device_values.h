// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/detail/trace_step.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belfry::detail {

/// Tells a trace of the elements of tensors.
class DeviceValues {
 public:
  virtual ~DeviceValues() = default;
  /// Sets `buffer`, and `elements` if they are known.
  virtual void show(const BufferView& view, TracedValue& value) = 0;
  /// The elements were not known: writes them when they are, as value `index` of `list`.
  virtual void show_later(const BufferView& view, std::uint64_t step, std::string_view list,
                          std::size_t index) = 0;
};

}  // namespace belfry::detail
