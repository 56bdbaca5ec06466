// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace belfry {

/// What is being chosen; recorded with each choice.
enum class ChoiceKind : std::uint8_t {
  kAgent,  ///< Which runnable agent takes the next step: replicas first, then streams.
  kWork,   ///< How much pending stream work runs now.
  kOrder,  ///< Which legal order a reduction takes.
};

/// Makes every choice of a run. The same Chooser state makes the same choices. Never throws: it is
/// asked on replicas' stacks.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// A number in [0, count). `count` is at least 1; nothing is recorded when it is 1.
  virtual std::uint32_t choose(ChoiceKind kind, std::uint32_t count) = 0;
};

}  // namespace belfry
