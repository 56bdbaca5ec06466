// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "belfry/error.h"

#include <vector>

namespace belfry::detail {

/// Whether requests of replicas that have all arrived belong together.
/// `requests` are indexed by replica id.
bool belong_together(const std::vector<MergeRequest*>& requests, const Participants& present);

/// The first way in which they do not. `what` of the report says what was
/// expected.
ErrorReport describe_mismatch(const std::vector<MergeRequest*>& requests,
                              const Participants& present);

}  // namespace belfry::detail
