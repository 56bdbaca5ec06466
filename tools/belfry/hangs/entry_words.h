// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/dump.h"

#include <optional>
#include <string>
#include <vector>

namespace belfry::tool::hangs {

/// A property with different values in two entries of a call.
enum class Difference : std::uint8_t { kKind, kSize, kType, kOperator, kRoot };

/// The first difference between entries of a call; none if the entries fit. Sizes are compared
/// by the number of elements, where the kind needs equal numbers; operators and roots where both
/// are known.
std::optional<Difference> difference(const Entry& a, const Entry& b);
std::string to_string(Difference difference);

/// Whether a rank completes the call only after the entry of all ranks.
bool waits_for_all(const Entry& entry);

/// `all_reduce (sum) of 16x4 Float at train.cpp:60`, as far as known.
std::string words(const Entry& entry);
/// `rank 1`, `ranks 0, 2 to 5 and 7`.
std::string words(const std::vector<int>& ranks);

}  // namespace belfry::tool::hangs
