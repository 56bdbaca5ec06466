// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs of raw streams, explored and tried in many schedules.
#include "belfry/sim/explore.h"
#include "belfry/testing/asserts.h"
#include "testing/all_schedules.h"
#include "testing/host_memory.h"
#include "testing/raw_program.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <set>

namespace belfry::sim::explored_programs_test {
namespace {

using testing::AllSchedules;
using testing::HostMemory;
using testing::RawOutcome;
using testing::RawProgram;
using testing::RawRun;

constexpr int kSchedules = 64;

// The outcomes of the first schedules in order, and of as many random ones.
std::set<RawOutcome> outcomes_of(const RawProgram& program) {
  std::set<RawOutcome> outcomes;
  AllSchedules schedules;
  for (int i = 0; i < kSchedules; ++i) {
    Backend backend{{.devices = 2, .record = false}, Attachments{.chooser = &schedules}};
    outcomes.insert(RawRun(backend).run(program));
    if (!schedules.next()) return outcomes;
  }
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    Backend backend{{.devices = 2, .record = false, .seed = seed}};
    outcomes.insert(RawRun(backend).run(program));
  }
  return outcomes;
}

// Whether the level speaks of an order: schedules that run into a second outcome are drawn.
bool is_unordered(VerdictLevel level) {
  return level == VerdictLevel::kRacy || level == VerdictLevel::kRefuted;
}

RC_GTEST_PROP(ExploredPrograms, AreCertifiedOnlyWithASingleOutcome,
              (std::uint64_t seed, std::uint8_t steps)) {
  belfry::testing::asserts("SEM-191");
  HostMemory::attached().reset();
  const RawProgram program = RawProgram::draw(seed, 1 + steps % 4);
  const auto body = [&](Backend& backend) { return RawRun(backend).run(program); };
  const Verdict verdict = explore({.devices = 2, .seed = seed}, body);
  const Verdict second = explore({.devices = 2, .seed = seed + 1}, body);
  const std::set<RawOutcome> outcomes = outcomes_of(program);
  RC_CLASSIFY(verdict.level() == VerdictLevel::kCertified, "certified");
  RC_CLASSIFY(outcomes.size() > 1, "diverging");
  RC_ASSERT(verdict.level() != VerdictLevel::kNone);
  RC_ASSERT(verdict.level() != VerdictLevel::kSampled);
  RC_ASSERT(is_unordered(verdict.level()) == is_unordered(second.level()));
  RC_ASSERT(verdict.level() != VerdictLevel::kCertified || outcomes.size() == 1);
}

}  // namespace
}  // namespace belfry::sim::explored_programs_test
