// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contracts over several processes find groups with mistakes.
#include "processes/wrong_groups.h"

#include "belfry/strategies.h"
#include "belfry/testing/process_contracts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using MakeGroup = std::function<std::unique_ptr<ProcessGroup>(Backend&, ProcessGroup&)>;

// The group of each process.
template <class Group>
std::unique_ptr<ProcessGroup> in_each_process(Backend&, ProcessGroup& right) {
  return std::make_unique<Group>(right);
}

// The wrong group for processes without devices, and a right group for the rest.
template <class Group>
std::unique_ptr<ProcessGroup> without_devices(Backend& backend, ProcessGroup& right) {
  if (backend.device_count() == 0) return std::make_unique<Group>(right);
  return std::make_unique<WrongGroup>(right);
}

// The results of the contracts. The groups outlive the strategies.
std::vector<ContractResult> results_with(const MakeGroup& make_group) {
  std::vector<std::unique_ptr<ProcessGroup>> groups;
  const ProcessStrategies strategies{
      "the wrong one", [&](Backend& backend, ProcessGroup& right, const StrategyOptions& options) {
        groups.push_back(make_group(backend, right));
        return std::make_unique<MultiWorkerMirroredStrategy>(backend, *groups.back(), options);
      }};
  return check_contracts_on_clusters(strategies, {.cases = 15, .seed = 1});
}

// The messages of the broken contracts that were judged.
std::vector<std::string> mistakes_in(const std::vector<ContractResult>& results) {
  std::vector<std::string> mistakes;
  for (const ContractResult& result : results) {
    if (!result.kept && result.not_judged_because.empty()) mistakes.push_back(result.message);
  }
  return mistakes;
}

// Expects that `id` alone is broken, by a mistake that begins with `mistake`.
void expect_broken(const std::string& id, const std::string& mistake, const MakeGroup& make_group) {
  EXPECT_THAT(mistakes_in(results_with(make_group)),
              ElementsAre(StartsWith(
                  id + " is broken by the wrong one on simulated clusters: " + mistake)));
}

TEST(WrongGroups, WithoutAMistakeKeepTheContracts) {
  EXPECT_THAT(mistakes_in(results_with(&in_each_process<WrongGroup>)), IsEmpty());
}

TEST(WrongGroups, ThatHandTheValueOfProcessZeroOnTwiceBreakCProg) {
  expect_broken("C-prog", "under the schedule drawn: replica 0 computed something else than",
                &in_each_process<RepeatsTheFirst>);
}

TEST(WrongGroups, ThatPassOverAChangeInAProcessThatListensBreakCProg) {
  expect_broken("C-prog", "under the serial schedule: a mirrored variable holds something else",
                &without_devices<PassesChangesOver>);
}

// The merges of replicas differ in the program, and the processes are in the merge together.
TEST(WrongGroups, ThatCompareLengthsAloneBreakCFail) {
  expect_broken("C-fail", "with a fault: the program ended well, where the model failed with ",
                &in_each_process<ComparesLengths>);
}

}  // namespace
}  // namespace belfry::testing
