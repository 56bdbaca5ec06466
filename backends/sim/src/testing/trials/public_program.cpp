// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/public_program.h"

#include "testing/drawn_numbers.h"

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;

constexpr auto kFirstTogether = static_cast<std::size_t>(Kind::kAllReduce);
constexpr auto kKinds = static_cast<std::size_t>(Kind::kKinds);

Kind draw_kind(DrawnNumbers& numbers, bool private_only, bool together) {
  for (;;) {
    const std::size_t number = together ? kFirstTogether + numbers.below(kKinds - kFirstTogether)
                                        : numbers.below(kFirstTogether);
    const auto kind = static_cast<Kind>(number);
    if (is_rare(kind) && !numbers.one_in(4)) continue;
    if (!private_only || is_private(kind)) return kind;
  }
}

}  // namespace

PublicProgram PublicProgram::draw(std::uint64_t seed, std::size_t positions, int most_replicas) {
  DrawnNumbers numbers(seed);
  PublicProgram program;
  program.replicas =
      2 + static_cast<int>(numbers.below(static_cast<std::size_t>(most_replicas) - 1));
  program.central = numbers.one_in(4);
  if (numbers.one_in(5)) {
    program.masked = static_cast<int>(numbers.below(static_cast<std::size_t>(program.replicas)));
  }
  program.is_private = numbers.one_in(2);
  program.steps.resize(static_cast<std::size_t>(program.replicas));
  for (std::size_t position = 0; position < positions; ++position) {
    const bool together = numbers.one_in(3);
    PublicStep step{draw_kind(numbers, program.is_private, together), numbers.below(2),
                    numbers.below(3)};
    for (auto& steps : program.steps) {
      if (!together) step.kind = draw_kind(numbers, program.is_private, false);
      if (!together) step.a = numbers.below(2);
      steps.push_back(step);
    }
  }
  return program;
}

std::string to_string(const PublicProgram& program) {
  std::string text = program.central ? "central storage" : "mirrored";
  if (program.is_private) text += ", private";
  for (std::size_t id = 0; id < program.steps.size(); ++id) {
    text += "\n  R" + std::to_string(id) + ':';
    if (static_cast<int>(id) == program.masked) {
      text += " takes no part";
      continue;
    }
    const char* separator = " ";
    for (const PublicStep& step : program.steps[id]) {
      text += separator + to_string(step);
      separator = "; ";
    }
  }
  return text;
}

}  // namespace belfry::sim::testing
