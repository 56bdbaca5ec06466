// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/wrong_program.h"

#include "testing/drawn_numbers.h"
#include "testing/trials/program_oracle.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::sim::testing {
namespace {

using Kind = PublicStep::Kind;

// The replica whose parts are swapped, or who leaves the merge out, has a partner.
std::vector<int> meeting_of_several(const PublicProgram& program, const PublicStep& step) {
  for (int id = 0; id < program.replicas; ++id) {
    std::vector<int> ids = program.meeting(id, step);
    if (id != program.masked && ids.size() > 1) return ids;
  }
  return {};
}

void swap_parts(PublicProgram& program, std::size_t position, std::size_t sender) {
  // Pairs are the same on all replicas.
  const bool in_all = program.steps[sender][position].kind == Kind::kPermute;
  for (std::size_t id = 0; id < program.steps.size(); ++id) {
    if (in_all || id == sender) program.steps[id][position].swaps = true;
  }
}

}  // namespace

std::string verb_of(const PublicStep& step) {
  return to_string(step.kind) + (step.axis > 0 ? " of a group" : "");
}

std::optional<WrongProgram> with_mistake(const PublicProgram& program, std::uint64_t seed) {
  const auto right = predict(program);
  if (!right || !right->second.empty()) return std::nullopt;
  DrawnNumbers numbers(seed);
  std::vector<std::size_t> exchanges;
  for (std::size_t i = 0; i < program.steps[0].size(); ++i) {
    if (is_exchange(program.steps[0][i])) exchanges.push_back(i);
  }
  if (exchanges.empty()) return std::nullopt;
  const std::size_t position = exchanges[numbers.below(exchanges.size())];
  const PublicStep step = program.steps[0][position];
  const std::vector<int> ids = meeting_of_several(program, step);
  if (ids.empty()) return std::nullopt;
  const auto drawn = static_cast<std::size_t>(ids[numbers.below(ids.size())]);
  const auto root = static_cast<std::size_t>(ids[step.root % ids.size()]);
  WrongProgram wrong{.program = program, .verb = verb_of(step)};
  switch (numbers.below(step.axis > 0 ? 4 : 3)) {
    case 0:
      wrong.mistake = "wrong root";
      for (auto& steps : wrong.program.steps) ++steps[position].root;
      break;
    case 1:
      wrong.mistake = "swapped parts";
      swap_parts(wrong.program, position, step.kind == Kind::kScatterFrom ? root : drawn);
      break;
    case 2: {
      wrong.mistake = "merge left out";
      auto& steps = wrong.program.steps[drawn];
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(position));
      return wrong;
    }
    default:
      wrong.mistake = "other axis";
      for (auto& steps : wrong.program.steps) steps[position].axis = 3 - step.axis;
  }
  wrong.expected = predict(wrong.program);
  if (wrong.expected == right) return std::nullopt;
  return wrong;
}

}  // namespace belfry::sim::testing
