// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/trial_program.h"

#include "testing/drawn_numbers.h"
#include "testing/raw_program.h"
#include "testing/trials/added_pair.h"
#include "testing/trials/public_program.h"

#include <cstddef>
#include <utility>

namespace belfry::sim::testing {
namespace {

ProgramOutcome run_raw(const RawProgram& program, Backend& backend) {
  const RawOutcome outcome = RawRun(backend).run(program);
  return {{outcome.begin(), outcome.end()}, ""};
}

TrialProgram of(PublicProgram program, std::uint64_t seed) {
  TrialProgram drawn{.seed = seed, .text = to_string(program), .devices = program.replicas};
  drawn.is_private = program.is_private;
  drawn.run = [program](Backend& backend, OrderTrace* trace) {
    return testing::run(program, backend, trace);
  };
  drawn.replicas = std::move(program);
  return drawn;
}

}  // namespace

TrialProgram draw_program(std::uint64_t seed, TrialSize size) {
  if (size == TrialSize::kExchanges) return of(PublicProgram::draw_exchanges(seed), seed);
  DrawnNumbers numbers(seed);
  const bool is_tiny = size == TrialSize::kTiny;
  const std::size_t steps = 1 + numbers.below(is_tiny ? 2 : 6);
  TrialProgram drawn{.seed = seed};
  if (numbers.one_in(3)) {
    RawProgram program = RawProgram::draw(seed, steps, numbers.one_in(3));
    if (program.is_private && numbers.one_in(3)) add_pair(program, numbers);
    drawn.text = to_string(program);
    drawn.is_private = program.is_private;
    drawn.run = [program](Backend& backend, OrderTrace*) { return run_raw(program, backend); };
    return drawn;
  }
  PublicProgram program = PublicProgram::draw(seed, steps, is_tiny ? 3 : 4);
  if (program.is_private && numbers.one_in(2)) add_pair(program, numbers);
  return of(std::move(program), seed);
}

}  // namespace belfry::sim::testing
