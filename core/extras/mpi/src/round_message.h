// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/byte_stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::mpi {

// The tags of messages between processes, by kind.
inline constexpr int kRoundTag = 1;   // A RoundMessage.
inline constexpr int kPieceTag = 2;   // The next bytes of the value of a round.
inline constexpr int kNoticeTag = 3;  // A Notice.

/// The first message of a process in a round.
struct RoundMessage {
  std::uint64_t round = 0;      ///< From 1.
  std::string call;             ///< `gather`, `broadcast from process 2`.
  std::uint64_t bytes = 0;      ///< The length of the whole value.
  belfry::detail::Bytes first;  ///< The beginning of the value.
};
belfry::detail::Bytes encode(const RoundMessage& message);
/// Throws: InternalError for a message of another version or byte order.
RoundMessage decode_round(const belfry::detail::Bytes& bytes);

/// A process has given up processes. All processes get the notice, the lost processes too: a late
/// process hears of the loss in the next call.
struct Notice {
  std::vector<int> lost;
  std::string reason;  ///< `no answer for 60 s`.
};
belfry::detail::Bytes encode(const Notice& notice);
Notice decode_notice(const belfry::detail::Bytes& bytes);

}  // namespace belfry::mpi
