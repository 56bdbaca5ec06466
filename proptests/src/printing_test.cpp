// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The texts of the values of belfry::testing, and the words of mistakes of strategies.
#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/contracts.h"
#include "belfry/testing/mutations.h"
#include "belfry/testing/strategy_factory.h"
#include "belfry/testing/tensors.h"
#include "belfry/testing/topology.h"
#include "belfry/testing/watchdog.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace belfry::testing::printing_test {
namespace {

using ::testing::PrintToString;

// The text of an initializer is compiled, and compared with the text of the options that the
// initializer makes.
#define EXPECT_PRINTS_ITSELF(Options, ...) \
  EXPECT_EQ(PrintToString(Options __VA_ARGS__), #__VA_ARGS__)

TEST(Printing, OfOptionsOfChecksIsCodeThatCompiles) {
  EXPECT_PRINTS_ITSELF(ContractOptions, {});
  EXPECT_PRINTS_ITSELF(ContractOptions, {.cases = 7, .most_devices = 3, .seed = 5});
  EXPECT_PRINTS_ITSELF(WatchdogOptions, {.limit_s = 2.5});
  EXPECT_PRINTS_ITSELF(StrategyTraits, {});
  EXPECT_PRINTS_ITSELF(StrategyTraits, {.replica_devices = belfry::testing::ReplicaDevices::kFirst,
                                        .uses_collectives = false,
                                        .require_names = true,
                                        .tolerance = 0.5});
}

TEST(Printing, OfResultsOfContracts) {
  EXPECT_EQ(PrintToString(ContractResult{.id = "C-run", .kept = true, .message = {}}),
            "C-run: kept");
  EXPECT_EQ(PrintToString(ContractResult{.id = "C-run", .message = "wrong"}),
            "C-run: broken: wrong");
  EXPECT_EQ(
      PrintToString(ContractResult{.id = "C-merge", .message = {}, .not_judged_because = "C-run"}),
      "C-merge: not judged because of C-run");
  EXPECT_EQ(PrintToString(Contract{"C-run", "the function runs once"}),
            "C-run: the function runs once");
}

TEST(Printing, OfRequestsAndRecipes) {
  EXPECT_EQ(PrintToString(CarrierKind::kBaton), "baton");
  EXPECT_EQ(PrintToString(ScheduleKind::kReplay), "replay");
  EXPECT_EQ(PrintToString(ReplicaDevices::kOwn), "own");
  EXPECT_EQ(PrintToString(BackendRequest{.devices = 4, .carrier = CarrierKind::kFiber}),
            "4 devices, fixed schedule, fibers");
  EXPECT_EQ(PrintToString(DeviceWork{.commands = 5, .collectives = 2}),
            "commands 5, collectives 2");
  EXPECT_EQ(PrintToString(MutationKind::kSwapMerges), "swap merges");
  EXPECT_EQ(PrintToString(Mutation{MutationKind::kThrow, 2, 1}), "throw on replica 2 in round 1");
  EXPECT_EQ(PrintToString(Topology{4, {3, 0}}), "devices 3, 0 of 4");
  EXPECT_EQ(PrintToString(Pattern::kZeros), "zeros");
}

std::string mistake_of(void (*mistake)()) {
  HostBackend backend{2};
  const StrategyOf<MirroredStrategy> factory("wrong", {}, [mistake](MirroredStrategy&) {
    mistake();
    return std::string("no exception");
  });
  return own_mistake_in_words(factory, *factory.make(backend, {}));
}

// An error of belfry has the seed and the replay token in the words.
TEST(OwnMistake, IsDescribedWithItsSchedule) {
  EXPECT_EQ(mistake_of([] {
              ErrorReport report;
              report.code = ErrorCode::kShape;
              report.summary = "two shapes";
              report.schedule = {.seed = 7, .token = "b0"};
              throw Error(report);
            }),
            "it threw BF-021 two shapes\n  seed: 7\n  replay: b0");
  EXPECT_EQ(mistake_of([] { throw std::runtime_error("plain"); }), "it threw plain");
}

}  // namespace
}  // namespace belfry::testing::printing_test
