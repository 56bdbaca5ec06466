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
  kDivergent,  ///< Ranks entered one call of a group in different ways.
  kCircle,     ///< Ranks wait for each other in different calls.
  kFailed,     ///< Others wait for a rank that failed.
  kEnded,      ///< The same for one that ended.
  kNoDump,     ///< The same for one without a dump.
  kBehind,     ///< The same for one that does not wait itself. It may be slow.
  kStalled,    ///< All ranks have reached a call, in the same way, and it did not complete.
};

struct Finding {
  FindingKind kind{};
  /// The call that diverges, that others wait in, or that some ranks make before the call of the
  /// others.
  std::optional<CallId> call{};
  std::vector<CallId> more_calls{};  ///< Others of which none is known to come first.
  std::vector<int> ranks{};          ///< That the finding names.
  bool is_tie = false;               ///< All sides of it: no majority tells which is right.
  std::optional<Divergence> divergence{};
  std::vector<Wait> circle{};
};

enum class Verdict : std::uint8_t { kNamed, kUndecided, kNothing };

/// What the dumps of a job tell.
struct Hang {
  Verdict verdict{};
  /// With kNamed: each is a reason by itself why ranks wait. With kUndecided: any of them may be.
  std::vector<Finding> causes{};
  std::vector<Finding> more{};  ///< May be consequences.
  std::vector<std::string> notes{};
};

Hang hang_of(const Job& job, const Waits& waits);
/// `divergent` and the like, for programs.
std::string to_string(FindingKind kind);

}  // namespace belfry::tool::hangs
