// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace belfry {

/// The numbers below `members` in ascending groups of `size`; the last group may be smaller.
inline std::vector<std::vector<int>> neighbour_groups(int members, int size) {
  std::vector<std::vector<int>> groups;
  for (int member = 0; member < members; ++member) {
    if (member % size == 0) groups.emplace_back();
    groups.back().push_back(member);
  }
  return groups;
}

}  // namespace belfry
