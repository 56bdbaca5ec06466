// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/strategy_core.h"

#include <optional>
#include <span>

/// An all_reduce of the hosts of several processes: one process reduces the messages of all
/// processes, and every process takes the result.
namespace belfry::detail {

/// The transport of tensors whose elements are sent, and reduced in memory of the host.
inline constexpr const char* kHeld = "held";

/// The number of replicas and the reduced leaves, from the messages of all processes, without their
/// heads. Nothing if hosts cannot reduce the messages alike: if structures differ, if a tensor is
/// sent without elements, for types with ElementTraits, and if sums are checked for overflow.
/// Throws: for messages refused by the reduction.
std::optional<Bytes> fold_reduction(StrategyCore& core,
                                    std::span<const std::span<const std::byte>> messages);

/// Gives the replicas of this process the leaves of `folded`.
/// Order: tensors are written in place, and copied on compute streams. Throws: DeviceError.
void take_reduction(StrategyCore& core, MergeRequest* const* requests, const Participants& present,
                    std::span<const std::byte> folded);

}  // namespace belfry::detail
