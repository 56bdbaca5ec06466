// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs of raw streams, tried in every schedule: a program without a race has a single
// outcome, and a race is reported in every schedule or in none.
#include "belfry/testing/asserts.h"
#include "races/race_detector.h"
#include "testing/all_schedules.h"
#include "testing/raw_program.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <set>

namespace belfry::sim::races::race_programs_test {
namespace {

using testing::AllSchedules;
using testing::RawOutcome;
using testing::RawProgram;
using testing::RawRun;

constexpr int kMostSchedules = 100;

// The schedules of a program, all of them or the first kMostSchedules and as many random ones.
struct Tried {
  std::set<RawOutcome> outcomes;
  int schedules = 0;
  int racy = 0;
  bool all = false;
};

void try_schedule(const RawProgram& program, Chooser* chooser, std::uint64_t seed, Tried& tried) {
  RaceDetector detector;
  Backend backend{{.devices = 2, .record = false, .seed = seed},
                  Attachments{.chooser = chooser, .observer = &detector}};
  tried.outcomes.insert(RawRun(backend).run(program));
  ++tried.schedules;
  tried.racy += detector.races().empty() && detector.event_races().empty() ? 0 : 1;
}

Tried try_program(const RawProgram& program) {
  Tried tried;
  AllSchedules schedules;
  do {
    try_schedule(program, &schedules, 0, tried);
    tried.all = !schedules.next();
  } while (!tried.all && tried.schedules < kMostSchedules);
  for (std::uint64_t seed = 0; !tried.all && seed < kMostSchedules; ++seed) {
    try_schedule(program, nullptr, seed, tried);
  }
  return tried;
}

TEST(ARaceDetector, MissesNoProgramWithTwoOutcomes) {
  belfry::testing::asserts("SEM-192");
  int clean = 0;
  int diverging = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Tried tried = try_program(RawProgram::draw(seed, 2 + seed % 2));
    ASSERT_TRUE(tried.racy == 0 || tried.racy == tried.schedules) << seed;
    ASSERT_TRUE(tried.racy != 0 || tried.outcomes.size() == 1) << seed;
    clean += tried.racy == 0 ? 1 : 0;
    diverging += tried.outcomes.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(clean, 10);
  EXPECT_GT(diverging, 5);
}

RC_GTEST_PROP(RacePrograms, WithoutARaceHaveASingleOutcome,
              (std::uint64_t seed, std::uint8_t steps)) {
  const Tried tried = try_program(RawProgram::draw(seed, 2 + steps % 5));
  RC_CLASSIFY(tried.racy == 0, "clean");
  RC_CLASSIFY(tried.outcomes.size() > 1, "diverging");
  RC_ASSERT(tried.racy == 0 || tried.racy == tried.schedules);
  RC_ASSERT(tried.racy != 0 || tried.outcomes.size() == 1u);
}

}  // namespace
}  // namespace belfry::sim::races::race_programs_test
