// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "schedule/replay.h"

#include <cstdint>

namespace belfry::sim {

/// Makes the choices of a recorded run again.
class ReplayedChooser final : public Chooser {
 public:
  explicit ReplayedChooser(Replay& replay) : replay_(&replay) {}

  std::uint32_t choose(ChoiceKind kind, std::uint32_t count) override {
    return count == 1 ? 0 : replay_->next(kind, count);
  }

 private:
  Replay* replay_;
};

}  // namespace belfry::sim
