// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/byte_stream.h"

namespace belfry::detail {

/// Writes what this process sends in an all_reduce, for the round before the merge. Nothing if a
/// tensor cannot be computed: the merge finds the failure.
void write_for_round(StrategyCore& core, MergeRequest* const* requests, const Participants& present,
                     ByteWriter& out);

}  // namespace belfry::detail
