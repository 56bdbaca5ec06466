// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/options.h"

#include "belfry/sim/log.h"
#include "belfry/sim/memory_report.h"
#include "belfry/sim/observer.h"

#include <gtest/gtest.h>

#include <sstream>

namespace belfry::sim::options_test {
namespace {

TEST(Options, PrintWhatWasChosen) {
  std::ostringstream stream;
  stream << Options{.devices = 3, .seed = 7} << ' '
         << Options{.schedule = Schedule::fixed(), .carrier = Carrier::kBaton, .record = false};
  EXPECT_EQ(stream.str(),
            "{.devices = 3, .seed = 7} "
            "{.devices = 1, .schedule = fixed, .carrier = baton, .record = false}");
}

// Every value of the simulator prints as the text of to_string.
TEST(Options, AndTheOtherValuesOfTheSimulatorPrint) {
  const auto text_of = [](const auto& value) {
    std::ostringstream stream;
    stream << value;
    EXPECT_EQ(::testing::PrintToString(value), stream.str());
    return stream.str();
  };
  EXPECT_EQ(text_of(Carrier::kBaton), "baton");
  EXPECT_EQ(text_of(Digests::kNone), "none");
  EXPECT_EQ(text_of(ScheduleKind::kReplayed), "replayed");
  EXPECT_EQ(text_of(Choice{ChoiceKind::kAgent, 5, 2}), "agent 2 of 5");
  const LiveBuffer buffer{};
  EXPECT_EQ(text_of(buffer), to_string(buffer));
  const LogRecord record{};
  EXPECT_EQ(text_of(record), to_string(record));
  const Actor actor{};
  EXPECT_EQ(text_of(actor), to_string(actor));
}

TEST(Options, PrintWhoseFunctionsMergesTake) {
  EXPECT_EQ(to_string(Options{.devices = 3, .functions_of = 2}),
            "{.devices = 3, .functions_of = 2}");
  EXPECT_NE((Options{.devices = 3, .functions_of = 2}), Options{.devices = 3});
}

TEST(Options, PrintEveryMember) {
  const Options all{.devices = 2,
                    .schedule = Schedule::fixed(),
                    .carrier = Carrier::kConcurrent,
                    .memory_limit_bytes = 3,
                    .share_copies = false,
                    .record = false,
                    .digests = Digests::kNone,
                    .record_limit = 4,
                    .stack_bytes = 5,
                    .seed = 6};
  EXPECT_EQ(to_string(all),
            "{.devices = 2, .schedule = fixed, .carrier = concurrent, .memory_limit_bytes = 3, "
            ".share_copies = false, .record = false, .digests = none, .record_limit = 4, "
            ".stack_bytes = 5, .seed = 6}");
}

TEST(Options, AreComparedByValue) {
  const Options a{.devices = 2};
  Options b{.devices = 2};
  EXPECT_EQ(a, b);
  b.schedule = Schedule::fixed();
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace belfry::sim::options_test
