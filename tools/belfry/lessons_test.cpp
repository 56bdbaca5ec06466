// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "lessons.h"

#include "belfry/cuda/backend.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace belfry::demo {
namespace {

using testing::ElementsAre;

// Lines move when the file is edited.
std::string without_lines(const std::string& text) {
  return std::regex_replace(text, std::regex(R"((\.cpp):\d+)"), "$1:LINE");
}

// v = 3 + id; the merge gives the sum s of all v, and each returns s + v.
TEST(Lessons, TheReferenceExample) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    sim::Backend one{{.devices = 1, .seed = seed}};
    EXPECT_THAT(reference_example(one), ElementsAre(6));
    sim::Backend two{{.devices = 2, .seed = seed}};
    EXPECT_THAT(reference_example(two), ElementsAre(10, 11));
    sim::Backend three{{.devices = 3, .seed = seed}};
    EXPECT_THAT(reference_example(three), ElementsAre(15, 16, 17));
    sim::Backend four{{.devices = 4, .seed = seed}};
    EXPECT_THAT(reference_example(four), ElementsAre(21, 22, 23, 24));
  }
  cuda::Backend gpus{cuda::Options::fit(2)};
  EXPECT_THAT(reference_example(gpus), ElementsAre(10, 11));
}

// The page about the demo shows this file.
TEST(Lessons, PrintWhatThePageShows) {
  std::ostringstream out;
  Console console(out, out, {});
  show_lessons(BackendKind::kSim, console);
  std::ifstream expected(BELFRY_LESSONS_EXPECTED);
  std::ostringstream text;
  text << expected.rdbuf();
  EXPECT_EQ(without_lines(out.str()), "\n" + text.str());
}

TEST(Lessons, TheBrokenStepIsExplainedInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    sim::Backend backend{{.devices = 2, .seed = seed}};
    EXPECT_EQ(without_lines(broken_step(backend)),
              "BF-010 some replicas ended without a merge that others wait in\n"
              "  replica 0  lessons.cpp:LINE  waits in all_reduce #1\n"
              "  replica 1  returned before its first merge\n"
              "  expected: every replica reaches the same merges in the same order\n"
              "  hint: take merges out of branches and loops whose length depends on the replica");
  }
}

}  // namespace
}  // namespace belfry::demo
