// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// MultiWorkerMirroredStrategy keeps the contracts on simulated clusters. If a case fails in any
// process, the case fails in all.
#include "belfry/testing/process_contracts.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/thread_group.h"
#include "processes/one_apart.h"
#include "src/contracts/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ProcessContracts, AreKeptOnClusters) {
  std::vector<std::string> checked;
  std::vector<std::pair<std::string, std::string>> left_out;
  for (const ContractResult& result : check_contracts_on_clusters(
           process_strategies<MultiWorkerMirroredStrategy>("several workers"), {.cases = 10})) {
    EXPECT_TRUE(result.kept) << result.message;
    checked.push_back(result.id);
    if (!result.left_out.empty()) left_out.emplace_back(result.id, result.left_out);
  }
  const std::string sources = "sources in other processes than the process of replica 0";
  const std::string of_programs = "runs inside merges; broadcasts with " + sources;
  EXPECT_THAT(left_out, ElementsAre(Pair("C-merge", "runs inside merges"), Pair("C-bcast", sources),
                                    Pair("C-prog", of_programs), Pair("C-fail", of_programs)));
  std::vector<std::string> all;
  for (const Contract& contract : contracts()) all.emplace_back(contract.id);
  EXPECT_EQ(checked, all);
}

// Two hosts with a device each are the smallest case: the hosts shrink values together.
TEST(ProcessContracts, ShrinkACaseOfAllHosts) {
  const auto results = check_contracts_on_clusters(with_a_process_apart(), {.cases = 30});
  EXPECT_THAT(
      results.front().message,
      AllOf(HasSubstr("C-run is broken by one apart on simulated clusters: there are 1 "
                      "replicas on the devices of all processes"),
            HasSubstr("devices of hosts: [1, 1]\n"), HasSubstr("backend: 1 device, fixed schedule"),
            HasSubstr("concurrent: false\n")));
  EXPECT_EQ(results[1].not_judged_because, "C-run");
}

// The text of the failed case in each process; empty after a success.
std::vector<std::string> ends_of_case(const std::function<void(ProcessGroup&)>& run_case) {
  std::vector<std::string> ends(3);
  run_processes(3, [&](ProcessGroup& group) {
    try {
      agree_on_case(group, [&] { run_case(group); });
    } catch (const rc::detail::CaseResult& result) {
      ends[static_cast<std::size_t>(group.rank())] = result.description;
    }
    group.barrier();  // The group is level.
  });
  return ends;
}

void use_a_strategy(ProcessGroup& group) {
  sim::Backend backend{{.devices = 1}};
  MultiWorkerMirroredStrategy strategy{backend, group};
  strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, 1); });
}

TEST(ProcessCases, SucceedTogether) { EXPECT_THAT(ends_of_case(use_a_strategy), Each(IsEmpty())); }

// The processes 0 and 2 are in an exchange: the failure of process 1 breaks the exchange.
TEST(ProcessCases, FailInAllProcessesByTheOneThatFailed) {
  const auto ends = ends_of_case([](ProcessGroup& group) {
    if (group.rank() == 1) throw std::runtime_error("on purpose");
    use_a_strategy(group);
  });
  EXPECT_THAT(ends, Each(AllOf(HasSubstr("in process 1: it threw "), HasSubstr("on purpose"))));
}

TEST(ProcessCases, FailByTheLowestOfSeveral) {
  const auto ends = ends_of_case([](ProcessGroup& group) {
    if (group.rank() > 0) throw std::runtime_error("of " + std::to_string(group.rank()));
  });
  EXPECT_THAT(ends, Each(AllOf(HasSubstr("in process 1: "), HasSubstr("of 1"))));
}

// Process 2 is in a broadcast, and verdicts are gathered.
TEST(ProcessCases, FailDuringABroadcast) {
  const auto ends = ends_of_case([](ProcessGroup& group) {
    if (group.rank() < 2) throw std::runtime_error("of " + std::to_string(group.rank()));
    group.broadcast({}, 0);
  });
  EXPECT_THAT(ends, Each(AllOf(HasSubstr("in process 0: "), HasSubstr("of 0"))));
}

}  // namespace
}  // namespace belfry::testing
