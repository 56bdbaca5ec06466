// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/detail/compiler.h"

#include <string_view>

namespace belfry {

/// Returns the library's version, "major.minor.patch", at the time of the library's compilation.
std::string_view version();

}  // namespace belfry
