// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "console.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace belfry::tool::console_test {
namespace {

struct Printed {
  std::string out;
  std::string notes;
};

Printed print(ConsoleOptions options) {
  std::ostringstream out;
  std::ostringstream notes;
  {
    Console console(out, notes, options);
    console.heading("Title");
    console.line("detail");
    console.progress("half");
    console.result("result");
    console.verdict(true, "fine");
    console.verdict(false, "broken");
    console.complain("oh");
    console.progress("more");
  }
  return {out.str(), notes.str()};
}

TEST(Console, DescribesErrorsWithSeedAndToken) {
  std::ostringstream out;
  std::ostringstream notes;
  ErrorReport report;
  report.code = ErrorCode::kShape;
  report.summary = "two shapes";
  report.site = {"train.cc", 11};
  report.schedule = ScheduleReport{.seed = 7, .token = "bf1.x"};
  Console(out, notes, {}).complain(InvalidArgumentError(report));
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(notes.str(),
            "belfry: BF-021 two shapes\n  at train.cc:11\n  seed: 7\n  replay: bf1.x\n");
}

TEST(Console, WritesPlainLinesWhereThereIsNoTerminal) {
  const Printed printed = print({});
  EXPECT_EQ(printed.out, "\nTitle\ndetail\nresult\n[ok]    fine\n[WRONG] broken\n");
  EXPECT_EQ(printed.notes, "oh\n");
}

TEST(Console, QuietLeavesResultsAndVerdicts) {
  const Printed printed = print({.colors = false, .progress = true, .quiet = true});
  EXPECT_EQ(printed.out, "result\n[ok]    fine\n[WRONG] broken\n");
  EXPECT_EQ(printed.notes, "oh\n");
}

TEST(Console, ProgressIsOneLineThatIsTakenAway) {
  const Printed printed = print({.colors = false, .progress = true, .quiet = false});
  EXPECT_EQ(printed.notes, "\r\x1b[Khalf\r\x1b[Koh\n\r\x1b[Kmore\r\x1b[K");
  EXPECT_EQ(printed.out.find('\x1b'), std::string::npos);
}

TEST(Console, ColorsAreForVerdictsAndTitles) {
  const Printed printed = print({.colors = true, .progress = false, .quiet = false});
  EXPECT_NE(printed.out.find("\x1b[1mTitle\x1b[0m"), std::string::npos);
  EXPECT_NE(printed.out.find("\x1b[32m[ok]    \x1b[0mfine"), std::string::npos);
  EXPECT_NE(printed.out.find("\x1b[1;31m[WRONG] \x1b[0mbroken"), std::string::npos);
}

}  // namespace
}  // namespace belfry::tool::console_test
