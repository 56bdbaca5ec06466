// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs of the public face, with captured variables and shared handles, in watched code:
// explored, and tried in many schedules.
#include "belfry/sim/explore.h"
#include "testing/all_schedules.h"
#include "testing/public_program.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::watched_programs_test {
namespace {

using testing::AllSchedules;
using testing::PublicProgram;

constexpr int kSchedules = 32;
using Outcome = std::pair<std::vector<double>, std::string>;

Outcome outcome_of(const PublicProgram& program, std::uint64_t seed, Chooser* chooser) {
  Backend backend{{.devices = program.replicas, .record = false, .seed = seed},
                  Attachments{.chooser = chooser}};
  try {
    return {run(program, backend), ""};
  } catch (const std::exception& exception) {
    return {{}, exception.what()};
  }
}

std::set<Outcome> outcomes_of(const PublicProgram& program) {
  std::set<Outcome> outcomes;
  AllSchedules schedules;
  for (int i = 0; i < kSchedules; ++i) {
    outcomes.insert(outcome_of(program, 0, &schedules));
    if (!schedules.next()) return outcomes;
  }
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    outcomes.insert(outcome_of(program, seed, nullptr));
  }
  return outcomes;
}

RC_GTEST_PROP(WatchedPrograms, AreCertifiedOnlyWithASingleOutcome,
              (std::uint64_t seed, std::uint8_t positions)) {
  const PublicProgram program = PublicProgram::draw(seed, 1 + positions % 5);
  const auto body = [&](Backend& backend) { return run(program, backend); };
  Options options{.devices = program.replicas, .seed = seed, .check_kernels = true};
  const Verdict verdict = explore(options, body);
  options.seed = seed + 1;
  const Verdict second = explore(options, body);
  const bool certified = verdict.level() == VerdictLevel::kCertified;
  const std::set<Outcome> outcomes = outcomes_of(program);
  RC_LOG() << to_string(program) << '\n' << explain(verdict) << '\n' << explain(second);
  RC_CLASSIFY(certified, "certified");
  RC_CLASSIFY(outcomes.size() > 1, "diverging");
  RC_CLASSIFY(program.is_private, "private");
  RC_ASSERT(verdict.level() != VerdictLevel::kNone);
  RC_ASSERT(!certified || outcomes.size() == 1u);
  RC_ASSERT(certified || !program.is_private);
  RC_ASSERT(certified == (second.level() == VerdictLevel::kCertified));
}

}  // namespace
}  // namespace belfry::sim::watched_programs_test
