// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Processes written as the variables of each launcher, and environments of several launchers.
#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace belfry::resolve_property_test {
namespace {

ProcessNumbers drawn_numbers() {
  const int size = *rc::gen::inRange(1, 40);
  const int rank = *rc::gen::inRange(0, size);
  return {.rank = rank, .size = size, .local_rank = *rc::gen::inRange(0, rank + 1)};
}

// A cluster of workers: `numbers.local_rank` earlier processes are on the host of the process.
std::string tf_config(const ProcessNumbers& numbers) {
  const int own = numbers.rank;
  std::string workers;
  for (int rank = 0; rank < numbers.size; ++rank) {
    const bool together = rank >= own - numbers.local_rank && rank <= own;
    const std::string host = together ? "own" : "host" + std::to_string(rank);
    workers += (rank == 0 ? "\"" : ", \"") + host + ":" + std::to_string(2222 + rank) + "\"";
  }
  return R"({"cluster": {"worker": [)" + workers + R"(]}, "task": {"type": "worker", "index": )" +
         std::to_string(own) + "}}";
}

// The variables of the process, as a launcher sets the variables.
Environment variables(ProcessSource source, const ProcessNumbers& numbers) {
  const std::string rank = std::to_string(numbers.rank);
  const std::string size = std::to_string(numbers.size);
  const std::string local = std::to_string(numbers.local_rank);
  switch (source) {
    case ProcessSource::kTfConfig:
      return {{"TF_CONFIG", tf_config(numbers)}};
    case ProcessSource::kOpenMpi:
      return {{"OMPI_COMM_WORLD_RANK", rank},
              {"OMPI_COMM_WORLD_SIZE", size},
              {"OMPI_COMM_WORLD_LOCAL_RANK", local},
              {"PMIX_RANK", rank}};
    case ProcessSource::kSlurm:
      return {{"SLURM_STEP_ID", "0"},
              {"SLURM_PROCID", rank},
              {"SLURM_STEP_NUM_TASKS", size},
              {"SLURM_LOCALID", local}};
    case ProcessSource::kTorchrun:
      return {{"RANK", rank}, {"WORLD_SIZE", size}, {"LOCAL_RANK", local}};
    default:
      return {};
  }
}

constexpr ProcessSource kInOrder[] = {ProcessSource::kTfConfig, ProcessSource::kOpenMpi,
                                      ProcessSource::kSlurm, ProcessSource::kTorchrun};

RC_GTEST_PROP(ResolveProperty, AProcessWrittenForAnyLauncherResolvesToItself, ()) {
  testing::asserts("SEM-200");
  const ProcessNumbers numbers = drawn_numbers();
  for (const ProcessSource source : kInOrder) {
    const Environment environment = variables(source, numbers);
    const ProcessIdentity identity = resolve(environment);
    RC_ASSERT(identity.numbers == numbers);
    RC_ASSERT(identity.source == source);
    // The answer, written for the next launcher, resolves to the same process.
    for (const ProcessSource next : kInOrder) {
      RC_ASSERT(resolve(variables(next, identity.numbers)).numbers == identity.numbers);
    }
    require_same_process(environment, numbers.rank, numbers.size);
  }
  RC_ASSERT(resolve({}, numbers).numbers == numbers);
}

// An environment of some launchers, with missing and empty variables. The oracle counts the
// variables of each launcher alone.
RC_GTEST_PROP(ResolveProperty, TheFirstCompleteLauncherTellsAllNumbers, ()) {
  testing::asserts("SEM-200", "SEM-201");
  Environment all;
  ProcessIdentity expected;
  for (const ProcessSource source : kInOrder) {
    if (*rc::gen::inRange(0, 3) == 0) continue;
    const ProcessNumbers numbers = drawn_numbers();
    Environment own = variables(source, numbers);
    own.erase("PMIX_RANK");
    const std::size_t complete = own.size();
    if (*rc::gen::arbitrary<bool>()) {
      const auto lost =
          std::next(own.begin(), *rc::gen::inRange<int>(0, static_cast<int>(complete)));
      if (*rc::gen::arbitrary<bool>()) {
        lost->second.clear();
      } else {
        own.erase(lost);
      }
    }
    const bool whole =
        own.size() == complete &&
        std::ranges::none_of(own, [](const auto& variable) { return variable.second.empty(); });
    if (whole && expected.source == ProcessSource::kAlone) {
      expected.source = source;
      expected.numbers = numbers;
    }
    all.insert(own.begin(), own.end());
  }
  const Environment before = all;
  const ProcessIdentity told = resolve(all);
  RC_ASSERT(told.numbers == expected.numbers);
  RC_ASSERT(told.source == expected.source);
  RC_ASSERT(all == before);
}

// Values of every kind: numbers that fit or do not fit, and text.
RC_GTEST_PROP(ResolveProperty, AnyEnvironmentGivesAProcessOrNamesAVariable, ()) {
  testing::asserts("SEM-201");
  Environment environment;
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "RANK",
        "WORLD_SIZE", "LOCAL_RANK"}) {
    environment[name] =
        *rc::gen::element<std::string>("0", "0", "1", "2", "3", "3", "4", "", "-1", "x", "01");
  }
  try {
    const ProcessNumbers numbers = resolve(environment).numbers;
    RC_ASSERT(numbers.rank >= 0);
    RC_ASSERT(numbers.rank < numbers.size);
    RC_ASSERT(numbers.local_rank >= 0);
    RC_ASSERT(numbers.local_rank < numbers.size);
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.code() == ErrorCode::kInvalidArgument);
    const std::string& summary = error.report().summary;
    const std::string name = summary.substr(0, summary.find(' '));
    RC_ASSERT(environment.contains(name));
    RC_ASSERT(summary.starts_with(name + " holds \"" + environment[name] + "\": "));
  }
}

}  // namespace
}  // namespace belfry::resolve_property_test
