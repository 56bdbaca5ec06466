// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"
#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry {

/// How a total is split into the components of a replica-local variable that is read as a sum
/// (SEM-56, SEM-57).
enum class SumSplit : std::uint8_t {
  kFirst,   ///< Component 0 gets the total, the others 0: the sum is the total (0 for -0.0).
  kDivide,  ///< Each gets total / components; the first get 1 more until no integer remainder
            ///< is left. Sums of floats may be rounded.
};

/// `first` or `divide`.
std::string to_string(SumSplit split);

namespace detail {
template <>
inline constexpr bool kPrints<SumSplit> = true;
}  // namespace detail

}  // namespace belfry
