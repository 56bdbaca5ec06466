// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"

#include <cstdint>
#include <string>

namespace belfry::detail {

/// Calls into belfry that a replica may make, and swallow the exception of, after its run failed.
inline constexpr std::uint32_t kPatience = 16;

/// The end of a sentence about a merge. In a loop the places do not tell the merges apart.
inline std::string numbered(std::uint64_t round, const MergeTag* tag) {
  return " (merge #" + std::to_string(round) + text_of(tag) + ")";
}

}  // namespace belfry::detail
