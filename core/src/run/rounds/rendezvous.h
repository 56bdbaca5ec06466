// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "belfry/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace belfry::detail {

/// The types in a compiler's text of `spelling<T...>()`: `double, int`.
std::string types_in(std::string_view spelling);

/// Whether the requests belong together. All replicas have arrived. `requests` are indexed by
/// replica id.
bool belong_together(const std::vector<MergeRequest*>& requests, const Participants& present);

/// The first difference between requests that do not belong together. `what` of the report holds
/// the expected request.
ErrorReport describe_mismatch(const std::vector<MergeRequest*>& requests,
                              const Participants& present);

}  // namespace belfry::detail
