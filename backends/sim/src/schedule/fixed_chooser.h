// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"

namespace belfry::sim {

/// Always the first: the serial schedule. Streams run only during waits for them.
class FixedChooser final : public Chooser {
 public:
  std::uint32_t choose(ChoiceKind, std::uint32_t) override { return 0; }
};

}  // namespace belfry::sim
