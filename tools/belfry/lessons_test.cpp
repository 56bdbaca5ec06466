// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "lessons.h"

#include "belfry/cuda/backend.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace belfry::demo::lessons_test {
namespace {

using ::testing::ElementsAre;

// `x.cpp:12` as `x.cpp:LINE`: lines move when a file is edited.
std::string without_lines(std::string text) {
  const std::string mark = ".cpp:";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    text.replace(begin, end - begin, "LINE");
  }
  return text;
}

// The words of each line, with numbers of three digits behind the point: other libraries compute
// exponentials with other last bits.
std::string in_words(const std::string& text) {
  std::string words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); words += '\n') {
    std::istringstream in(line);
    for (std::string word; in >> word; words += word + ' ') {
      const std::size_t point = word.find('.');
      const std::size_t end = word.find_first_not_of("0123456789", point + 1);
      const bool is_number = point != std::string::npos && point > 0 && word[point - 1] >= '0' &&
                             word[point - 1] <= '9' && end > point + 4 && end != std::string::npos;
      if (is_number) word.erase(point + 4, end - point - 4);
    }
  }
  return words;
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
  tool::Console console(out, out, {});
  DemoOptions options;
  options.file = BELFRY_DEMO_DATA;
  show_lessons(options, console);
  std::ifstream expected(BELFRY_LESSONS_EXPECTED);
  std::ostringstream text;
  text << expected.rdbuf();
  EXPECT_EQ(in_words(without_lines(out.str())), in_words("\n" + text.str()));
}

TEST(Lessons, TheBrokenStepIsExplainedInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    sim::Backend backend{{.devices = 2, .seed = seed}};
    const std::string text = without_lines(broken_step(backend));
    EXPECT_EQ(text,
              "BF-010 some replicas ended without a merge that others wait in\n"
              "  replica 0  lessons.cpp:LINE  waits in all_reduce #1\n"
              "  replica 1  returned before its first merge\n"
              "  expected: every replica reaches the same merges in the same order\n"
              "  hint: take merges out of branches and loops whose length depends on the replica\n"
              "  seed: " +
                  std::to_string(seed) + "\n  replay: " + backend.replay_token());
  }
}

}  // namespace
}  // namespace belfry::demo::lessons_test
