// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belfry::mpi {

// The tags of messages between processes, by kind.
inline constexpr int kRoundTag = 1;   // A RoundHead and the beginning of the value.
inline constexpr int kPieceTag = 2;   // The next bytes of the value of a round.
inline constexpr int kNoticeTag = 3;  // A Notice.

/// The first word of each message: a different number means a different version or byte order.
inline constexpr std::uint32_t kFormat = 0x62670002;

/// The call of a process in a round. A rank stands for the broadcast from the process.
using Call = std::int32_t;
inline constexpr Call kGather = -1;
inline constexpr Call kConstructor = -2;
inline constexpr Call kLeave = -3;
inline constexpr Call kParts = -4;
inline constexpr Call kEnd = -5;  // All have called kLeave.
/// Whether the call is one of a farewell.
constexpr bool is_farewell(Call call) { return call == kLeave || call == kEnd; }
/// `gather`, `broadcast from process 2`.
std::string text_of(Call call);

/// The head of the first message of a process in a round.
struct RoundHead {
  std::uint32_t format = kFormat;
  Call call = kGather;
  std::uint64_t round = 0;  ///< From 1.
  std::uint64_t bytes = 0;  ///< The length of the whole value.
  std::uint64_t piece = 0;  ///< The greatest length of a piece of the value.
};

/// A process has given up processes. All processes get the notice, the lost processes too: a late
/// process hears of the loss in the next call.
struct Notice {
  int from = 0;
  std::vector<int> lost;
  std::string reason;  ///< `no answer for 60 s`.
};
belfry::detail::Bytes encode(const Notice& notice);
/// Throws: InternalError for a message of another version or byte order.
Notice decode_notice(std::span<const std::byte> bytes);

}  // namespace belfry::mpi
