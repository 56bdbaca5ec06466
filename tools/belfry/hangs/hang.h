// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/divergence.h"
#include "hangs/job.h"
#include "hangs/waits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belfry::tool::hangs {

enum class FindingKind : std::uint8_t {
  kDivergent,  ///< Ranks have different entries of a call.
  kCircle,     ///< Ranks wait for each other in different calls.
  kFailed,     ///< Ranks wait for a failed rank.
  kEnded,      ///< The same for an ended rank.
  kNoDump,     ///< The same for a rank without a dump.
  kBehind,     ///< The same for a rank without an open call, perhaps a slow rank.
  kStalled,  ///< All ranks have reached a call, with equal entries, and the call did not complete.
};

struct Finding {
  FindingKind kind{};
  /// The divergent call, the call with waiting ranks, or the call with the usual order in a circle.
  std::optional<CallId> call{};
  std::vector<CallId> more_calls{};  ///< Further calls without a known order.
  std::vector<int> ranks{};          ///< Named by the finding.
  bool is_tie = false;               ///< The ranks are all sides: there is no majority.
  std::optional<Divergence> divergence{};
  std::vector<Wait> circle{};
};

enum class Verdict : std::uint8_t { kNamed, kUndecided, kNothing };

/// The answer to the dumps of a job.
struct Hang {
  Verdict verdict{};
  /// With kNamed: each is a sufficient reason for the waits. With kUndecided: the possible reasons.
  std::vector<Finding> causes{};
  std::vector<Finding> more{};  ///< May be consequences.
  std::vector<std::string> notes{};
};

Hang hang_of(const Job& job, const Waits& waits);
/// `divergent` and the like, for programs.
std::string to_string(FindingKind kind);

}  // namespace belfry::tool::hangs
