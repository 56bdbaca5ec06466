// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/public_program.h"

#include "testing/drawn_numbers.h"

#include <algorithm>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;

constexpr auto kFirstTogether = static_cast<std::size_t>(Kind::kAllReduce);
constexpr auto kFirstExchange = static_cast<std::size_t>(Kind::kAllGather);
constexpr auto kKinds = static_cast<std::size_t>(Kind::kKinds);

Kind draw_kind(DrawnNumbers& numbers, bool private_only, bool together) {
  for (;;) {
    const std::size_t number = together
                                   ? kFirstTogether + numbers.below(kFirstExchange - kFirstTogether)
                                   : numbers.below(kFirstTogether);
    const auto kind = static_cast<Kind>(number);
    if (is_rare(kind) && !numbers.one_in(4)) continue;
    if (!private_only || is_private(kind)) return kind;
  }
}

// A reduction is one of the exchanges, also of a group.
PublicStep draw_exchange(DrawnNumbers& numbers, bool is_masked) {
  const std::size_t number = numbers.below(kKinds - kFirstExchange + 1);
  PublicStep step{number == 0 ? Kind::kAllReduce : static_cast<Kind>(kFirstExchange + number - 1),
                  numbers.below(2), numbers.below(3), numbers.below(4)};
  if (step.kind == Kind::kSharded) {  // All replicas have rows.
    if (is_masked) step.kind = Kind::kAllGather;
  } else if (!is_masked && numbers.one_in(4)) {
    step.axis = 1 + numbers.below(2);
  }
  return step;
}

PublicProgram draw_program(std::uint64_t seed, std::size_t positions, int most_replicas,
                           bool of_exchanges) {
  DrawnNumbers numbers(seed);
  DrawnNumbers exchanges(~seed);
  PublicProgram program;
  program.replicas =
      2 + static_cast<int>(numbers.below(static_cast<std::size_t>(most_replicas) - 1));
  program.central = numbers.one_in(4);
  if (numbers.one_in(5)) {
    program.masked = static_cast<int>(numbers.below(static_cast<std::size_t>(program.replicas)));
  }
  program.is_private = numbers.one_in(2) || of_exchanges;
  program.steps.resize(static_cast<std::size_t>(program.replicas));
  for (std::size_t position = 0; position < positions; ++position) {
    const bool together = of_exchanges ? !numbers.one_in(3) : numbers.one_in(3);
    PublicStep step{draw_kind(numbers, program.is_private, together), numbers.below(2),
                    numbers.below(3)};
    if (together && !exchanges.one_in(of_exchanges ? 8 : 2)) {
      step = draw_exchange(exchanges, program.masked >= 0);
    }
    for (auto& steps : program.steps) {
      if (!together) step.kind = draw_kind(numbers, program.is_private, false);
      if (!together) step.a = numbers.below(2);
      steps.push_back(step);
    }
  }
  return program;
}

}  // namespace

PublicProgram PublicProgram::draw(std::uint64_t seed, std::size_t positions, int most_replicas) {
  return draw_program(seed, positions, most_replicas, false);
}

PublicProgram PublicProgram::draw_exchanges(std::uint64_t seed) {
  return draw_program(seed, 2 + seed % 4, 4, true);
}

std::vector<int> PublicProgram::meeting(int replica, const PublicStep& step) const {
  const int width = replicas == 4 ? 2 : 1;
  std::vector<int> ids;
  for (int id = 0; id < replicas; ++id) {
    const bool meets = step.axis == 1   ? id % width == replica % width
                       : step.axis == 2 ? id / width == replica / width
                                        : id != masked;
    if (meets) ids.push_back(id);
  }
  return ids;
}

namespace {

template <class F>
bool any_step(const PublicProgram& program, const F& is_one) {
  return std::ranges::any_of(program.steps, [&](const auto& of_replica) {
    return std::ranges::any_of(of_replica, is_one);
  });
}

}  // namespace

bool PublicProgram::has(Kind kind) const {
  return any_step(*this, [kind](const PublicStep& step) { return step.kind == kind; });
}

bool PublicProgram::has_groups() const {
  return any_step(*this, [](const PublicStep& step) { return step.axis > 0; });
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
