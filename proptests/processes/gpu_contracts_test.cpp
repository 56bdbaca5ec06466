// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// MultiWorkerMirroredStrategy keeps the contracts on the GPUs of 1 to 3 processes, whose devices
// are the ranks of one NCCL communicator on the simulated driver.
#include "belfry/strategies.h"
#include "belfry/testing/contracts.h"
#include "processes/gpu_cases.h"
#include "processes/one_apart.h"
#include "src/contracts/process_cases.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace belfry::testing {
namespace {

constexpr int kMostProcesses = 3;
constexpr int kMostDevices = 2;  // The machine has 8 GPUs.

void on_some_gpus(const ContractOptions& options, const ProcessCase& run_case) {
  const auto processes = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, kMostProcesses + 1));
  const auto devices_of = *rc::gen::mapcat(processes, [&options](int count) {
                             return device_counts(count, options);
                           }).as("devices of processes");
  const auto carrier =
      *rc::gen::element(cuda::Carrier::kConcurrent, cuda::Carrier::kFiber, cuda::Carrier::kBaton);
  on_gpus(devices_of, carrier, run_case);
}

TEST(GpuContracts, AreKeptInSeveralProcesses) {
  const auto strategies = process_strategies<MultiWorkerMirroredStrategy>("several workers");
  std::vector<std::string> checked;
  for (const ContractResult& result :
       check_contracts_in_cases(strategies, {.cases = 10, .most_devices = kMostDevices},
                                "GPUs of processes", &on_some_gpus)) {
    EXPECT_TRUE(result.kept) << result.message;
    checked.push_back(result.id);
  }
  std::vector<std::string> all;
  for (const Contract& contract : contracts()) all.emplace_back(contract.id);
  EXPECT_EQ(checked, all);
}

TEST(GpuContracts, AreBrokenByAProcessApart) {
  const auto results =
      check_contracts_in_cases(with_a_process_apart(), {.cases = 30, .most_devices = kMostDevices},
                               "GPUs of processes", &on_some_gpus);
  EXPECT_FALSE(results.front().kept);
  EXPECT_EQ(results.front().message.find("C-run is broken by one apart on GPUs of processes: "), 0U)
      << results.front().message;
}

}  // namespace
}  // namespace belfry::testing
