// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace belfry {

/// The subject of a choice; recorded with each choice.
enum class ChoiceKind : std::uint8_t {
  kAgent,  ///< The runnable agent for the next step: replicas first, then streams.
  kWork,   ///< The amount of pending stream work to run now.
  kOrder,  ///< The order of a reduction, among the permitted orders.
};

/// Makes every choice of a run. Equal states of a Chooser make equal choices. Must not throw:
/// `choose` is called on replicas' stacks.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// A number in [0, count). `count` is at least 1; choices with a count of 1 are not recorded.
  virtual std::uint32_t choose(ChoiceKind kind, std::uint32_t count) = 0;
};

}  // namespace belfry
