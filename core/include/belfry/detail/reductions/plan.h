// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

struct AdditionTree;

/// Consecutive chunks of a tensor.
struct ChunkRange {
  int first = 0;  ///< The first chunk.
  int count = 1;  ///< The number of chunks: at least 1.

  bool operator==(const ChunkRange&) const = default;
};

/// `chunk 2`, `chunks 0 to 2`.
std::string to_string(const ChunkRange& range);

/// How a tensor of n elements is cut into K chunks.
enum class ChunkRule : std::uint8_t {
  kRoundedUp,      ///< n / K elements each, rounded up; the last chunks are shorter or empty.
  kRemainderLast,  ///< n / K elements each, rounded down; the last chunk has the rest as well.
};

/// `rounded up`, `remainder last`.
std::string to_string(ChunkRule rule);

/// The traffic from one member to another.
struct LinkTraffic {
  std::size_t copies = 0;  ///< The number of copies that are not empty.
  std::size_t bytes = 0;   ///< The bytes of all copies.

  bool operator==(const LinkTraffic&) const = default;
};

/// `2 copies, 96 bytes`.
std::string to_string(const LinkTraffic& traffic);

/// The steps of an all-reduce, for tensors of any length: in each step members add chunks of
/// others to their own, until each chunk has the inputs of all members; in later steps finished
/// chunks are copied to all members (SEM-147). Members are numbered from 0, in replica order.
struct ReductionPlan {
  /// A member adds up some chunks of the terms, and keeps the sum.
  struct Sum {
    int member = 0;            ///< The member that adds.
    ChunkRange chunks{};       ///< The chunks.
    std::vector<int> terms{};  ///< Members, in the order of additions; `member` is among them.

    /// Whether all members are equal.
    bool operator==(const Sum&) const = default;
  };
  /// A member takes over finished chunks.
  struct Copy {
    int from = 0;         ///< The member that has the chunks.
    int to = 0;           ///< The member that receives the chunks.
    ChunkRange chunks{};  ///< The chunks.

    /// Whether all members are equal.
    bool operator==(const Copy&) const = default;
  };

  int members = 1;                          ///< The number of members.
  int chunks = 1;                           ///< The number of chunks of each tensor.
  ChunkRule rule = ChunkRule::kRoundedUp;   ///< The lengths of the chunks.
  std::vector<std::vector<Sum>> sums{};     ///< The sums of each step; all of them at once.
  std::vector<std::vector<Copy>> copies{};  ///< The copies of each later step; all at once.

  /// The number of steps: members wait for one another before each.
  std::size_t steps() const { return sums.size() + copies.size(); }
  /// Where the chunks of a tensor of `elements` begin; the last number is `elements`.
  std::vector<std::size_t> chunk_begins(std::size_t elements) const;
  /// The traffic of a tensor, by sender and receiver; links without a copy are missing. Partial
  /// sums of 16-bit floats travel as floats (SEM-33).
  std::map<std::pair<int, int>, LinkTraffic> traffic(std::size_t elements, DType dtype) const;
  /// The additions of the elements of a chunk. The chunk is in range and the plan valid.
  AdditionTree additions(int chunk) const;

  bool operator==(const ReductionPlan&) const = default;
};

/// Throws InvalidArgumentError (kInvalidArgument) unless the plan is an all-reduce: members and
/// chunks are in range, no step reads what the step writes, every sum has each input once and all
/// members receive every finished chunk. The message names the step, the member and the chunk.
void validate(const ReductionPlan& plan, CallSite site = CallSite::here());

/// The steps, a line each, and the additions of each chunk.
std::string to_string(const ReductionPlan& plan);

}  // namespace belfry
