// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contracts of strategies in the processes of on_each_process.
#include "belfry/strategies.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/process_contracts.h"
#include "processes/before_tests.h"
#include "processes/group_kind.h"
#include "processes/one_apart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

const BackendFactory& backends = backend_factory();

ContractOptions few() { return {.cases = cases_over_processes, .most_devices = 3}; }

std::string words_of(const std::vector<ContractResult>& results) {
  std::string text;
  for (const ContractResult& result : results) text += to_string(result) + '\n';
  return text;
}

// Whether process 0 has the text, too.
bool is_text_of_first(ProcessGroup& group, const std::string& text) {
  const auto first = group.broadcast(std::as_bytes(std::span(text)), 0);
  return std::ranges::equal(first, std::as_bytes(std::span(text)));
}

TEST(ContractsInProcesses, AreKeptByMultiWorkerMirroredStrategy) {
  on_each_process([](ProcessGroup& group) {
    // [contracts]
    const auto strategies = process_strategies<MultiWorkerMirroredStrategy>("several workers");
    for (const ContractResult& result : check_contracts_over(group, strategies, backends, few())) {
      EXPECT_TRUE(result.kept) << result.message;
    }
    // [contracts]
  });
}

TEST(ContractsInProcesses, AreBrokenInAllProcessesIfInOne) {
  on_each_process([](ProcessGroup& group) {
    const auto results = check_contracts_over(group, with_a_process_apart(), backends, few());
    EXPECT_FALSE(results.front().kept);
    const std::string& message = results.front().message;
    // The last process fails first. The rest wait in an exchange, and fail by the verdict.
    const std::string culprit = "in process " + std::to_string(group.size() - 1) + ": ";
    EXPECT_NE(message.find(culprit), std::string::npos) << message;
    // The processes shrink alike, to a single device each.
    EXPECT_NE(message.find("devices of processes: [1, 1"), std::string::npos) << message;
    EXPECT_TRUE(is_text_of_first(group, words_of(results))) << words_of(results);
    // The group is level after all the broken exchanges.
    EXPECT_EQ(group.gather({}).size(), static_cast<std::size_t>(group.size()));
  });
}

}  // namespace
}  // namespace belfry::testing
