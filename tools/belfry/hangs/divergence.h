// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/entry_words.h"
#include "hangs/job.h"

#include <optional>
#include <string>
#include <vector>

namespace belfry::tool::hangs {

/// Ranks with equal entries of a call.
struct Variant {
  std::vector<int> ranks{};
  const Entry* entry = nullptr;  ///< Of the first rank.
};

/// How a rank may have come to a different call.
enum class Pattern : std::uint8_t { kUnknown, kLeftOut, kAdded, kSwapped };

/// The first call of a group with different entries on two ranks.
struct Divergence {
  CallId call{};
  Difference what{};
  std::vector<Variant> variants{};  ///< The largest first.
  std::vector<int> ranks{};         ///< Those beside the majority; without a majority all.
  bool has_majority = false;
  Pattern pattern = Pattern::kUnknown;
  bool may_be_earlier = false;  ///< The rings have no earlier call to compare.
};

/// None without a difference, and without a common number in the rings of two ranks.
std::optional<Divergence> first_divergence(const Job& job, std::size_t group);
/// Whether two ranks have the entry of a call of the group, or no entry of the group is lost.
bool has_common_window(const Group& group);

}  // namespace belfry::tool::hangs
