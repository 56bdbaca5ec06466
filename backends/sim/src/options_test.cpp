// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/options.h"

#include "belfry/sim/replay_token.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace belfry::sim::options_test {
namespace {

// The text of an initializer is compiled, and compared with the text of the options that the
// initializer makes.
#define EXPECT_PRINTS_ITSELF(...) \
  EXPECT_EQ(to_string(::belfry::sim::Options __VA_ARGS__), #__VA_ARGS__)

TEST(Options, PrintCodeThatCompiles) {
  EXPECT_PRINTS_ITSELF({.devices = 3, .seed = 7});
  EXPECT_PRINTS_ITSELF({.devices = 1, .schedule = belfry::sim::Schedule::fixed()});
  EXPECT_PRINTS_ITSELF({.devices = 3, .functions_of = 2});
  EXPECT_PRINTS_ITSELF({.devices = 2,
                        .carrier = belfry::sim::Carrier::kBaton,
                        .digests = belfry::sim::Digests::kAll});
  EXPECT_PRINTS_ITSELF({.devices = 1, .seed = 9223372036854775807});
  EXPECT_PRINTS_ITSELF({.devices = 1, .seed = 18446744073709551615u});
}

TEST(Options, PrintEveryMember) {
  EXPECT_PRINTS_ITSELF({.devices = 2,
                        .schedule = belfry::sim::Schedule::fixed(),
                        .carrier = belfry::sim::Carrier::kConcurrent,
                        .memory_limit_bytes = 3,
                        .share_copies = false,
                        .record = false,
                        .digests = belfry::sim::Digests::kNone,
                        .record_limit = 4,
                        .stack_bytes = 5,
                        .seed = 6,
                        .functions_of = 1});
}

TEST(Options, PrintNumbersOfNoEnumerator) {
  EXPECT_PRINTS_ITSELF({.devices = 1,
                        .schedule = {.kind = static_cast<belfry::sim::ScheduleKind>(7)},
                        .carrier = static_cast<belfry::sim::Carrier>(8),
                        .digests = static_cast<belfry::sim::Digests>(9)});
}

TEST(Options, PrintAReplayedScheduleAsItsToken) {
  const std::string token =
      encode_choices(std::vector<Choice>{{ChoiceKind::kAgent, 3, 2}, {ChoiceKind::kWork, 2, 1}});
  const Options options{.devices = 2, .schedule = Schedule::replay(token)};
  EXPECT_EQ(to_string(options),
            "{.devices = 2, .schedule = belfry::sim::Schedule::replay(\"" + token + "\")}");
}

TEST(Options, AreStreamedAsTheirText) {
  std::ostringstream stream;
  stream << Options{.devices = 3, .seed = 7};
  EXPECT_EQ(stream.str(), "{.devices = 3, .seed = 7}");
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
