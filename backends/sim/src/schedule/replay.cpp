// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "schedule/replay.h"

#include "belfry/error.h"

#include <string>

namespace belfry::sim {

std::uint32_t Replay::next(ChoiceKind kind, std::uint32_t count) {
  if (misfit_) return 0;
  const std::size_t index = next_++;
  if (index < choices_.size()) {
    const Choice& recorded = choices_[index];
    if (recorded.kind == kind && recorded.count == count) return recorded.value;
  }
  misfit_ = true;
  asked_ = {kind, count, 0};
  return 0;
}

void Replay::throw_misfit(CallSite site) const {
  if (!misfit_) return;
  const std::size_t index = next_ - 1;
  const std::string had =
      index < choices_.size() ? "`" + to_string(choices_[index]) + "`" : "the end of the run";
  throw InvalidArgumentError(ErrorCode::kReplay,
                             "the recorded choices do not fit; choice " + std::to_string(index) +
                                 ": recorded " + had + ", asked for `" + to_string(asked_) + "`",
                             "replay a token with the program, options and version it came from",
                             site);
}

}  // namespace belfry::sim
