// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/options.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/log.h"
#include "belfry/sim/memory_report.h"
#include "belfry/sim/observer.h"
#include "belfry/sim/replay_token.h"
#include "belfry/sim/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::options_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

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

// The texts of facts about a run, by hand.
TEST(Options, AndTheFactsAboutARunPrint) {
  const auto text_of = [](const auto& value) { return ::testing::PrintToString(value); };
  EXPECT_EQ(text_of(Annotation{.record = 3}), "record 3");
  EXPECT_EQ(
      text_of(Annotation{.record = 3, .site = {"src/train.cpp", 5}, .name = 2, .failed = true}),
      "record 3, name 2, train.cpp:5, failed");
  LogDifference difference;
  difference.text = "operation 3 differs";
  EXPECT_EQ(text_of(difference), "operation 3 differs");
  EXPECT_EQ(text_of(DeviceMemoryReport{
                .device = 1, .use = {.live_bytes = 96, .peak_bytes = 128, .live_buffers = 2}}),
            "device 1: 96 bytes live in 2 buffers, 128 at the peak");
  const Actor replica{.agent = {AgentId::Kind::kReplica, 1}, .run = 2};
  const StreamItem item{.stream = 4, .item = 3};
  EXPECT_EQ(text_of(item), "item 3 of S4");
  EXPECT_EQ(text_of(EventName{.maker = replica, .number = 2}), "event 2 of R1 of run 2");
  EXPECT_EQ(text_of(EventName{}), "no event");
  EXPECT_EQ(text_of(Observation{.kind = Observation::Kind::kSubmitted,
                                .actor = replica,
                                .items = {&item, 1},
                                .name = "fill",
                                .site = {"train.cpp", 5}}),
            "R1 of run 2 submitted fill, item 3 of S4, train.cpp:5");
  EXPECT_EQ(text_of(Observation{.kind = Observation::Kind::kReached,
                                .actor = {.agent = {AgentId::Kind::kStream, 4}},
                                .event = {.maker = replica, .number = 2},
                                .record = 1}),
            "S4 reached, record 1, event 2 of R1 of run 2");
}

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

TEST(Options, OfTimelinesPrintCodeThatCompiles) {
  EXPECT_EQ(::testing::PrintToString(TimelineOptions{}), "{}");
  EXPECT_EQ(::testing::PrintToString(
                TimelineOptions{.max_rows = 20, .max_replicas = 2, .bookkeeping = true}),
            "{.max_rows = 20, .max_replicas = 2, .bookkeeping = true}");
  EXPECT_EQ(::testing::PrintToString(
                TimelineOptions{.streams = false, .max_elements = 3, .max_width = 40}),
            "{.streams = false, .max_elements = 3, .max_width = 40}");
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
                        .functions_of = 1,
                        .max_steps = 7,
                        .check_kernels = true,
                        .audit_watch = true});
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

// The error of a backend with `options`.
std::string refusal(const Options& options) {
  try {
    const Backend backend{options};
    return "made";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("options_test.cpp"));
    EXPECT_NE(error.report().hint, "");
    return error.report().summary;
  }
}

TEST(Options, RefuseNumbersOfNoEnumerator) {
  EXPECT_EQ(refusal({.carrier = static_cast<Carrier>(9)}),
            "Options::carrier is 9, the number of no enumerator");
  EXPECT_EQ(refusal({.digests = static_cast<Digests>(3)}),
            "Options::digests is 3, the number of no enumerator");
  EXPECT_EQ(refusal({.schedule = {.kind = static_cast<ScheduleKind>(200)}}),
            "Options::schedule.kind is 200, the number of no enumerator");
}

TEST(Options, RefuseStacksOutOfBounds) {
  constexpr std::size_t kLeast = 32768;      // 32 KiB
  constexpr std::size_t kMost = 1073741824;  // 1 GiB
  for (const Carrier carrier : {Carrier::kFiber, Carrier::kBaton, Carrier::kConcurrent}) {
    EXPECT_EQ(refusal({.carrier = carrier, .stack_bytes = 0}), "stacks of 0 bytes are too small");
    EXPECT_EQ(refusal({.carrier = carrier, .stack_bytes = kLeast - 1}),
              "stacks of 32767 bytes are too small");
    EXPECT_EQ(refusal({.carrier = carrier, .stack_bytes = kMost + 1}),
              "stacks of 1073741825 bytes are too large");
    EXPECT_EQ(refusal({.carrier = carrier, .stack_bytes = SIZE_MAX}),
              "stacks of 18446744073709551615 bytes are too large");
    EXPECT_EQ(refusal({.carrier = carrier, .stack_bytes = kLeast}), "made");
    EXPECT_EQ(refusal({.carrier = carrier, .stack_bytes = kMost}), "made");
  }
}

// Frames with sanitizers are larger.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kSmallStack = 262144;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::size_t kSmallStack = 262144;
#else
constexpr std::size_t kSmallStack = 32768;
#endif
#else
constexpr std::size_t kSmallStack = 32768;
#endif

// An all_reduce, and a failed run whose exception unwinds the replicas.
TEST(Options, HaveALeastStackThatCarriesReplicas) {
  Backend backend{{.devices = 2, .stack_bytes = kSmallStack}};
  MirroredStrategy strategy{backend};
  const auto sums = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, Tensor<double>::full({3}, 2.0)).to_host();
  });
  for (const auto& sum : sums) EXPECT_THAT(sum, Each(4.0));
  EXPECT_THROW(strategy.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 1) throw std::out_of_range(std::to_string(0.5));
    replica.all_reduce(ReduceOp::kSum, 1);
  }),
               std::out_of_range);
}

}  // namespace
}  // namespace belfry::sim::options_test
