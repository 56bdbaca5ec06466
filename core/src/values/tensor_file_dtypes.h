// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"

#include <optional>
#include <string_view>

namespace belfry {

/// The key of a header whose object is no array.
inline constexpr std::string_view kNotesName = "__metadata__";

/// What safetensors calls an element type: `F32`, `BF16`, ...
std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

}  // namespace belfry
