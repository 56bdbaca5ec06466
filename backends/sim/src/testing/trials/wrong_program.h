// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/trials/program_outcome.h"
#include "testing/trials/public_program.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belfry::sim::testing {

/// A private program with a mistake in one of its exchanges.
struct WrongProgram {
  PublicProgram program;
  std::string verb{};     ///< The exchange.
  std::string mistake{};  ///< `wrong root`, `swapped parts`, `other axis` or `merge left out`.
  /// The outcome; nothing for a merge left out, whose run fails.
  std::optional<ProgramOutcome> expected{};
};

/// The name of the verb of an exchange: `broadcast`, `broadcast of a group`.
std::string verb_of(const PublicStep& step);

/// The program with a drawn mistake; nothing for programs without an exchange, that throw, or whose
/// outcome the mistake leaves as it was.
std::optional<WrongProgram> with_mistake(const PublicProgram& program, std::uint64_t seed);

}  // namespace belfry::sim::testing
