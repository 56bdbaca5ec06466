// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace belfry {

/// How a total becomes the components of a replica-local variable that is read as their sum
/// (SEM-56, SEM-57).
enum class SumSplit : std::uint8_t {
  kFirst,   ///< Component 0 gets it, the others 0: the sum is the total, to the last bit.
  kDivide,  ///< Each gets the total divided by their number; integers: the first get 1 more until
            ///< nothing remains. Sums of floats may be rounded.
};

/// `first` or `divide`.
std::string to_string(SumSplit split);

}  // namespace belfry
