// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace belfry::detail {

enum class NumberText : std::uint8_t { kFine, kNoNumber, kOutOfRange };

/// Appends the bytes of the number in `text`, the whole text, whatever the locale: `-1.5e3`, `+2`.
NumberText append_number(std::string_view text, DType dtype, std::vector<std::byte>& bytes);
/// Appends the bytes of `value`, rounded to a floating type. False, without a byte, for a value
/// beyond the range of the type, and for a value between the integers of the type.
bool append_value(double value, DType dtype, std::vector<std::byte>& bytes);

}  // namespace belfry::detail
