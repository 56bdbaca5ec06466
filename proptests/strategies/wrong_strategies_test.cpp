// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contracts find strategies with mistakes, and name the mistake.
#include "strategies/wrong_strategies.h"

#include "belfry/strategies.h"
#include "belfry/testing/contracts.h"
#include "strategies/one_replica_factories.h"
#include "strategies/wrong_sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace belfry::testing::wrong_strategies_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class S>
ContractResult result_of(const char* id) {
  const StrategyOf<S> strategies("the wrong one");
  return check_contract(id, strategies, backend_factory(), {.cases = 100, .seed = 1});
}

// Expects a broken contract with a message that begins with the contract and contains `sentence`.
template <class S>
void expect_broken(const char* id, const char* sentence) {
  const ContractResult result = result_of<S>(id);
  EXPECT_FALSE(result.kept) << id << " was kept";
  EXPECT_THAT(result.message,
              AllOf(HasSubstr(std::string(id) + " is broken by the wrong one on " +
                              std::string(backend_factory().name()) + ": "),
                    HasSubstr(sentence), HasSubstr("\n  wanted: "), HasSubstr("\n  with ")));
}

template <class S>
std::set<std::string> broken_contracts() {
  std::set<std::string> broken;
  const StrategyOf<S> strategies("the wrong one");
  for (const ContractResult& result :
       check_contracts(strategies, backend_factory(), {.cases = 40, .seed = 1})) {
    if (!result.kept && result.not_judged_because.empty()) broken.insert(result.id);
  }
  return broken;
}

// The contracts without a judgement because of `broken`.
template <class S>
std::set<std::string> not_judged(const std::string& broken) {
  std::set<std::string> ids;
  const StrategyOf<S> strategies("the wrong one");
  for (const ContractResult& result :
       check_contracts(strategies, backend_factory(), {.cases = 40, .seed = 1})) {
    if (result.not_judged_because != broken) continue;
    EXPECT_FALSE(result.kept) << result.id;
    EXPECT_EQ(result.message, result.id + " was not judged, because " + broken +
                                  " is broken by the wrong one on " +
                                  std::string(backend_factory().name()));
    ids.insert(result.id);
  }
  return ids;
}

TEST(WrongStrategies, BreakTheContractOfTheirMistake) {
  expect_broken<ForgetfulReduce>("C-reduce", "sum of host rows of float32 gave replica 0 [");
  expect_broken<WrongMean>("C-reduce", "mean of host rows of float32 gave replica 0 [");
  expect_broken<AddsFactors>("C-reduce", "prod of host rows of float32 gave replica 0 [");
  expect_broken<AddsFactors>("C-local", "reading a replica-local prod gave [");
  expect_broken<DropsNan>("C-reduce", "max of a NaN and numbers is no NaN");
  expect_broken<WrongMean>("C-upd", "after an assignment by mean is [");
  expect_broken<DropsOrder>("C-reduce", " gave replica 0 [");
  expect_broken<AlwaysReplicaOrder>("C-reduce", " gave replica 0 [");
  expect_broken<WrongLeaves<is_bfloat16>>("C-reduce",
                                          "sum of host rows of bfloat16 gave replica 0 [");
  expect_broken<WrongLeaves<is_int64>>("C-reduce", "sum of host rows of int64 gave replica 0 [");
  expect_broken<WrongLeaves<is_long>>("C-reduce", "sum of host rows of float32 gave replica 0 [");
  expect_broken<FirstLeaves>("C-reduce", "sum of nests gave another nest");
  expect_broken<RefusesLeaves<is_empty>>("C-reduce", "it threw no such leaves, please");
  expect_broken<RefusesLeaves<is_of_rank_two>>("C-reduce", "it threw no such leaves, please");
  expect_broken<AcceptsIntegerMean>("C-reduce", "MEAN over tensors of int32 was accepted");
  expect_broken<ShortBroadcast>("C-bcast", "a broadcast of float64 gave replica 0 [");
  expect_broken<CountsTheAbsent>("C-input", "the means over those who take part in step ");
  expect_broken<StaleBroadcast>("C-bcast", "a broadcast of float32 gave replica ");
  expect_broken<InitialiserEverywhere>("C-init",
                                       "component 1 of 2 of a new variable on the host is [");
  expect_broken<SkippingUpdate>("C-upd", "BF-007 a strategy left component 1 of variable ");
  expect_broken<MergeTwice>("C-merge", "BF-007 a strategy carried out one merge_call twice");
  expect_broken<RunOnce>("C-run", "BF-007 a strategy carried out one run not at all");
  expect_broken<MovingVariables>("C-dest",
                                 "a variable lives on other devices than parameter_devices() says");
  expect_broken<IgnoresDevices>("C-run", "the device of replica 0 is ");
  expect_broken<ReversesDevices>("C-run", "the device of replica 0 is ");
  expect_broken<RetriesUpdates>("C-fail", "with a fault: the program ended well, where the model");
  expect_broken<ReversesComponents>("C-local", " after its replica wrote it, not [");
  expect_broken<ReducesInPlace>("C-local", " after it was read, not [");
  expect_broken<CopiesUpdates>(
      "C-local", "BF-007 a strategy copied component 0 of replica-local host in an update");
  expect_broken<AddsToTheLast>("C-local", "saving a replica-local sum gave [");
  expect_broken<LendsStorage>("C-dest", "sees a variable on another device than its own");
  expect_broken<EmptyCopies>("C-dest", "update_non_slot handed over another value");
  expect_broken<CrowdedVariables>("C-dest", " is named twice");
}

// A strategy may keep all rules for strategies and make mistakes in its own work. No contract alone
// can find such mistakes.
template <SgdMistake kMistake>
void expect_found_by_its_factory() {
  using Sgd = Trained<WrongSgd<kMistake>>;
  const StrategyOf<Sgd> silent("the wrong one");
  const StrategyOf<Sgd> strategies("the wrong one", {}, &Sgd::mistake);
  const ContractOptions few{.cases = 20, .seed = 1};
  for (const Contract& contract : contracts()) {
    EXPECT_TRUE(check_contract(contract.id, silent, backend_factory(), few).kept) << contract.id;
    const ContractResult found = check_contract(contract.id, strategies, backend_factory(), few);
    EXPECT_FALSE(found.kept) << contract.id << " was kept";
    EXPECT_THAT(found.message, HasSubstr("its own work went wrong: parameters "));
  }
}

TEST(WrongStrategies, MistakesInTheirOwnWorkAreFoundByTheirFactory) {
  expect_found_by_its_factory<SgdMistake::kForgetsAReplica>();
  expect_found_by_its_factory<SgdMistake::kSkipsTensors>();
  expect_found_by_its_factory<SgdMistake::kSetsToZero>();
}

// An exception of `own_mistake` is reported as well.
TEST(WrongStrategies, ExceptionsInTheirOwnWorkAreFoundByTheirFactory) {
  const StrategyOf<MirroredStrategy> strategies(
      "the wrong one", {},
      [](MirroredStrategy&) -> std::string { throw std::runtime_error("nobody knows"); });
  const ContractResult found =
      check_contract("C-run", strategies, backend_factory(), {.cases = 2, .seed = 1});
  EXPECT_THAT(found.message, HasSubstr("its own work went wrong: it threw nobody knows"));
}

// Records the lines in which a program calls `run`.
class NotesRuns final : public Strategy {
 public:
  NotesRuns(Backend& backend, const StrategyOptions& options, std::set<std::uint32_t>& lines)
      : Strategy(backend, options, CallSite::here()), lines_(lines) {}

 private:
  void do_run(StrategyStep& replicas) override {
    lines_.insert(replicas.site().line);
    replicas.carry_out();
  }

  std::set<std::uint32_t>& lines_;
};

// The strategies that a function makes, with as many replicas as promised or not.
class MadeBy final : public StrategyFactory {
 public:
  using Make = std::function<std::unique_ptr<Strategy>(Backend&, const StrategyOptions&)>;

  explicit MadeBy(Make make, ReplicaDevices promised = ReplicaDevices::kEach)
      : make_(std::move(make)), promised_(promised) {}
  std::string_view name() const override { return "the wrong one"; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    return make_(backend, options);
  }
  ReplicaDevices replica_devices() const override { return promised_; }

 private:
  Make make_;
  ReplicaDevices promised_;
};

// Hooks do not see the arguments of replicas: no strategy can break that part of the contract. The
// test checks instead that the contract calls `run` in three places.
TEST(Contracts, HandOverShapesArgumentsAndDatasetsInCInput) {
  std::set<std::uint32_t> lines;
  const MadeBy strategies([&](Backend& backend, const StrategyOptions& options) {
    return std::make_unique<NotesRuns>(backend, options, lines);
  });
  const ContractResult result =
      check_contract("C-input", strategies, backend_factory(), {.cases = 20, .seed = 1});
  EXPECT_TRUE(result.kept) << result.message;
  EXPECT_EQ(lines.size(), 3U);
}

TEST(WrongStrategies, BreakWhatTheirMistakeTouchesAndNothingElse) {
  using Ids = std::set<std::string>;
  EXPECT_EQ(broken_contracts<InitialiserEverywhere>(), Ids({"C-init"}));
  EXPECT_EQ(broken_contracts<WrongMean>(), Ids({"C-reduce"}));
  EXPECT_EQ(broken_contracts<MergeTwice>(), Ids({"C-merge"}));
  EXPECT_EQ(broken_contracts<CountsTheAbsent>(), Ids({"C-input"}));
  EXPECT_EQ(broken_contracts<MovingVariables>(), Ids({"C-dest"}));
  EXPECT_EQ(broken_contracts<IgnoresDevices>(), Ids({"C-run"}));
  EXPECT_EQ(broken_contracts<ReversesDevices>(), Ids({"C-run"}));
  EXPECT_EQ(broken_contracts<DropsOrder>(), Ids({"C-reduce"}));
  EXPECT_EQ(broken_contracts<AcceptsIntegerMean>(), Ids({"C-reduce"}));
  EXPECT_EQ(broken_contracts<RetriesUpdates>(), Ids({"C-fail"}));
  EXPECT_EQ(broken_contracts<CopiesUpdates>(), Ids({"C-local"}));
  EXPECT_THAT(broken_contracts<StaleBroadcast>(), Contains("C-bcast"));
}

// The contracts above the broken contract name the root cause, and are not kept.
TEST(WrongStrategies, AreReportedOnce) {
  using Ids = std::set<std::string>;
  EXPECT_EQ(not_judged<IgnoresDevices>("C-run"),
            Ids({"C-merge", "C-reduce", "C-input", "C-bcast", "C-init", "C-upd", "C-local",
                 "C-dest", "C-prog", "C-fail"}));
  EXPECT_EQ(not_judged<WrongMean>("C-reduce"),
            Ids({"C-input", "C-upd", "C-local", "C-prog", "C-fail"}));
  EXPECT_EQ(not_judged<RetriesUpdates>("C-fail"), Ids());
}

// In any order, as if a test framework ran a single contract.
TEST(ContractResultsOf, WrongStrategiesNameTheRootCause) {
  const StrategyOf<WrongMean> strategies("the wrong one");
  ContractResults results(strategies, backend_factory(), {.cases = 40, .seed = 1});
  EXPECT_EQ(results.of("C-upd").not_judged_because, "C-reduce");
  EXPECT_TRUE(results.of("C-init").kept);
  EXPECT_EQ(results.of("C-prog").not_judged_because, "C-reduce");
  EXPECT_EQ(results.of("C-reduce").not_judged_because, "");
  EXPECT_THAT(results.of("C-reduce").message, HasSubstr("C-reduce is broken by the wrong one"));
  EXPECT_THROW(results.of("C-nothing"), InvalidArgumentError);
}

TEST(Contracts, NeedEarlierContracts) {
  std::set<std::string_view> earlier;
  for (const Contract& contract : contracts()) {
    for (const std::string_view need : contract.needs) {
      EXPECT_TRUE(earlier.contains(need)) << contract.id << " needs " << need;
    }
    EXPECT_EQ(contract.needs.empty(), contract.id == "C-run") << contract.id;
    earlier.insert(contract.id);
  }
}

// Rounding to bfloat16 is off by at most 2^-9 of the magnitude of a term.
TEST(Contracts, OfLossyStrategiesTakeATolerance) {
  const ContractOptions options{.cases = 60, .seed = 1};
  const StrategyOf<SendsBFloat16> lossy("lossy", {.tolerance = 0x1p-8});
  std::set<std::string> parts;
  for (const ContractResult& result : check_contracts(lossy, backend_factory(), options)) {
    EXPECT_TRUE(result.kept) << result.message;
    if (!result.left_out.empty()) parts.insert(result.id + ": " + result.left_out);
  }
  EXPECT_EQ(parts,
            std::set<std::string>({"C-reduce: the order of additions, and the values of nests",
                                   "C-prog: the values that programs compute",
                                   "C-fail: the values that programs compute"}));
  // Without a tolerance, or with a smaller tolerance, the same strategy breaks the contract.
  const StrategyOf<SendsBFloat16> exact("lossy");
  EXPECT_FALSE(check_contract("C-reduce", exact, backend_factory(), options).kept);
  const StrategyOf<SendsBFloat16> close("lossy", {.tolerance = 0x1p-14});
  EXPECT_FALSE(check_contract("C-reduce", close, backend_factory(), options).kept);
  // A tolerance hides no larger mistake, and no mistake of integers.
  const StrategyOf<ForgetfulReduce> forgetful("forgetful", {.tolerance = 0x1p-8});
  EXPECT_FALSE(check_contract("C-reduce", forgetful, backend_factory(), options).kept);
  const StrategyOf<WrongLeaves<is_int64>> integers("wrong integers", {.tolerance = 0x1p-8});
  EXPECT_THAT(check_contract("C-reduce", integers, backend_factory(), options).message,
              HasSubstr("sum of host rows of int64 gave replica 0 ["));
  const StrategyOf<WrongMean> wrong("wrong mean", {.tolerance = 0x1p-8});
  for (const char* id : {"C-input", "C-reduce", "C-upd", "C-local"}) {
    EXPECT_FALSE(check_contract(id, wrong, backend_factory(), options).kept) << id;
  }
}

TEST(WrongStrategies, AreShrunkToTheFewestDevicesThatShowTheMistake) {
  const ContractResult result = result_of<ForgetfulReduce>("C-reduce");
  EXPECT_THAT(result.message, HasSubstr("with backend: 2 devices, fixed schedule"))
      << result.message;
}

TEST(WrongStrategies, AreShrunkToTheFewestDevicesInAnOrderThatShowsTheMistake) {
  for (const ContractResult& result :
       {result_of<IgnoresDevices>("C-run"), result_of<ReversesDevices>("C-run")}) {
    EXPECT_THAT(result.message, HasSubstr("with replicas on: devices 1, 0 of 2")) << result.message;
  }
}

// Contracts with a single replica leave out some checks, and say so.
TEST(Contracts, OfOneReplicaSayWhatTheyLeaveOut) {
  const OneDeviceFactory one;
  const StrategyOf<MirroredStrategy> several("mirrored");
  const ContractOptions few{.cases = 3, .seed = 1};
  std::set<std::string> silent;
  for (const ContractResult& result : check_contracts(one, backend_factory(), few)) {
    EXPECT_TRUE(result.kept) << result.message;
    if (result.left_out.empty()) silent.insert(result.id);
  }
  EXPECT_EQ(silent, std::set<std::string>({"C-run", "C-input", "C-dest", "C-prog"}));
  for (const ContractResult& result : check_contracts(several, backend_factory(), few)) {
    EXPECT_THAT(result.left_out, IsEmpty()) << result.id;
  }
}

// A factory that promises a single replica must make strategies with a single replica, and vice
// versa.
TEST(Contracts, HoldFactoriesToTheReplicasTheyPromise) {
  const auto message = [](ReplicaDevices promised, const char* id) {
    const MadeBy strategies(
        [promised](Backend& backend, const StrategyOptions& options) -> std::unique_ptr<Strategy> {
          if (promised == ReplicaDevices::kEach) return OneDeviceFactory().make(backend, options);
          return std::make_unique<MirroredStrategy>(backend, options);
        },
        promised);
    return check_contract(id, strategies, backend_factory(), {.cases = 40, .seed = 1}).message;
  };
  EXPECT_THAT(message(ReplicaDevices::kEach, "C-run"),
              HasSubstr("there are 1 replicas for 2 devices"));
  EXPECT_THAT(message(ReplicaDevices::kEach, "C-fail"),
              HasSubstr("there are 1 replicas on 2 devices"));
  EXPECT_THAT(message(ReplicaDevices::kFirst, "C-run"),
              HasSubstr("there are 2 replicas, and one was promised"));
  EXPECT_THAT(message(ReplicaDevices::kOwn, "C-run"),
              HasSubstr("there are 2 replicas, and one was promised"));
}

// ctest runs the test with and without RC_PARAMS.
TEST(Contracts, TryAsManyCasesAsWereAskedFor) {
  const auto cases = [](const ContractOptions& options) {
    int made = 0;
    const MadeBy strategies([&](Backend& backend, const StrategyOptions& asked) {
      ++made;
      return std::make_unique<MirroredStrategy>(backend, asked);
    });
    check_contract("C-dest", strategies, backend_factory(), options);
    return made;
  };
  EXPECT_EQ(cases({.cases = 4}), 4);
  const char* const asked = std::getenv("RC_PARAMS");
  const bool is_set =
      asked != nullptr && std::string(asked).find("max_success") != std::string::npos;
  EXPECT_EQ(cases({}), is_set ? rc::detail::configuration().testParams.maxSuccess : 50);
}

TEST(Contracts, HaveNamesAndOnlyThoseAreKnown) {
  std::set<std::string_view> ids;
  for (const Contract& contract : contracts()) {
    EXPECT_TRUE(ids.insert(contract.id).second);
    EXPECT_EQ(contract.id.substr(0, 2), "C-");
    EXPECT_FALSE(contract.sentence.empty());
  }
  const StrategyOf<MergeTwice> strategies("any");
  EXPECT_THROW(check_contract("C-nothing", strategies, backend_factory()), InvalidArgumentError);
}

}  // namespace
}  // namespace belfry::testing::wrong_strategies_test
