// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace belfry::sim {

/// The text of an outcome for people: of a long text the begin, and the number of characters.
std::string shortened(const std::string& text);

/// Two texts as a pair of parts around their first difference: `1` and `10`, or
/// `[... 2, 3, 4 ...]` and `[... 2, 5, 4 ...]`. Texts without a difference are shortened.
struct OutcomePair {
  std::string first;
  std::string second;
};
OutcomePair around_difference(const std::string& first, const std::string& second);

}  // namespace belfry::sim
