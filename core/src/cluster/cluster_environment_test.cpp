// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"

#include "belfry/device_share.h"
#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace belfry::cluster_environment_test {
namespace {

const Environment kOpenMpi{{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
const Environment kSlurm{{"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "5"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_LOCALID", "2"}};
const Environment kTorchrun{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}};

Environment joined(Environment first, const Environment& second) {
  first.insert(second.begin(), second.end());
  return first;
}

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment.insert_or_assign(name, value);
  return environment;
}

Environment without(Environment environment, const std::string& name) {
  environment.erase(name);
  return environment;
}

// The report of a refusal, with a hint.
ErrorReport refusal_of(const auto& act) {
  const ErrorReport report = report_of(act);
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(report.hint.empty());
  return report;
}

std::string failure_of(const Environment& environment) {
  const ErrorReport report = refusal_of([&] { static_cast<void>(resolve(environment)); });
  EXPECT_EQ(report.site.line, __LINE__ - 1);
  return report.summary;
}

TEST(Resolve, ReadsALauncher) {
  testing::asserts("SEM-200");
  const ProcessIdentity torch = resolve(kTorchrun);
  EXPECT_EQ(torch.source, ProcessSource::kTorchrun);
  EXPECT_EQ(torch.numbers, (ProcessNumbers{.rank = 1, .size = 2, .local_rank = 0}));
  EXPECT_FALSE(torch.task);
  EXPECT_EQ(torch.cluster, ClusterSpec{});
}

TEST(Resolve, WithoutASourceIsAlone) {
  testing::asserts("SEM-200");
  EXPECT_EQ(resolve(Environment{}), ProcessIdentity{});
  EXPECT_EQ(resolve({{"PATH", "/bin"}, {"PMIX_RANK", "3"}}), ProcessIdentity{});
  EXPECT_EQ(ProcessIdentity{}.numbers, (ProcessNumbers{.rank = 0, .size = 1, .local_rank = 0}));
}

// mpirun in the script of a Slurm job: all processes inherit the variables of the script.
TEST(Resolve, TakesTheFirstCompleteSourceWhole) {
  testing::asserts("SEM-200");
  const Environment all = joined(joined(kOpenMpi, kSlurm), kTorchrun);
  EXPECT_EQ(resolve(all), resolve(kOpenMpi));
  EXPECT_EQ(resolve(without(all, "OMPI_COMM_WORLD_LOCAL_RANK")), resolve(kSlurm));
  EXPECT_EQ(resolve(joined(kSlurm, kTorchrun)), resolve(kSlurm));
  const ProcessIdentity given = resolve(all, ProcessNumbers{.rank = 0, .size = 3});
  EXPECT_EQ(given.source, ProcessSource::kExplicit);
  EXPECT_EQ(given.numbers, (ProcessNumbers{.rank = 0, .size = 3, .local_rank = 0}));
  const std::string tf =
      R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}})";
  EXPECT_EQ(resolve(with(all, "TF_CONFIG", tf)).source, ProcessSource::kTfConfig);
  // Values of later sources are not read.
  EXPECT_EQ(resolve(with(all, "RANK", "x")), resolve(kOpenMpi));
}

TEST(Resolve, CountsSlurmsVariablesInAStepOnly) {
  testing::asserts("SEM-200");
  EXPECT_EQ(resolve(without(kSlurm, "SLURM_STEP_ID")), ProcessIdentity{});
  EXPECT_EQ(resolve(joined(without(kSlurm, "SLURM_STEP_ID"), kTorchrun)), resolve(kTorchrun));
}

TEST(Resolve, TakesAnEmptyValueForNotSet) {
  testing::asserts("SEM-201");
  EXPECT_EQ(resolve(with(kTorchrun, "WORLD_SIZE", "")), ProcessIdentity{});
  EXPECT_EQ(resolve(with(kSlurm, "SLURM_STEP_ID", "")), ProcessIdentity{});
  EXPECT_EQ(resolve(with(kTorchrun, "TF_CONFIG", "")), resolve(kTorchrun));
}

TEST(Resolve, RefusesAllButDecimalDigits) {
  testing::asserts("SEM-201");
  for (const char* value : {"-1", "+1", " 1", "1 ", "0x1", "1.0", "one", "2147483648", "1e1"}) {
    EXPECT_EQ(failure_of(with(kTorchrun, "RANK", value)),
              "RANK holds \"" + std::string(value) +
                  "\": expected decimal digits, of a number up to 2147483647");
  }
  EXPECT_EQ(failure_of(with(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "4x")),
            "OMPI_COMM_WORLD_SIZE holds \"4x\": expected decimal digits, of a number up to "
            "2147483647");
  EXPECT_EQ(resolve(with(kTorchrun, "RANK", "0001")), resolve(kTorchrun));
}

TEST(Resolve, RefusesNumbersThatDoNotFit) {
  testing::asserts("SEM-201");
  EXPECT_EQ(failure_of(with(kTorchrun, "RANK", "2")),
            "RANK holds \"2\": not below the number of processes; WORLD_SIZE holds \"2\"");
  EXPECT_EQ(failure_of(with(kSlurm, "SLURM_LOCALID", "8")),
            "SLURM_LOCALID holds \"8\": not below the number of processes; SLURM_STEP_NUM_TASKS "
            "holds \"8\"");
  EXPECT_EQ(failure_of(with(kTorchrun, "WORLD_SIZE", "0")),
            "WORLD_SIZE holds \"0\": a job has at least one process");
  for (const ProcessNumbers& given :
       {ProcessNumbers{.rank = 4, .size = 4}, ProcessNumbers{.rank = -1, .size = 4},
        ProcessNumbers{.rank = 0, .size = 0}, ProcessNumbers{.rank = 0, .size = 2, .local_rank = 2},
        ProcessNumbers{.rank = 0, .size = 2, .local_rank = -1}}) {
    EXPECT_EQ(refusal_of([&] { static_cast<void>(resolve(kOpenMpi, given)); }).summary,
              "the numbers that the program gave are " + to_string(given));
  }
}

TEST(Resolve, CutsLongValuesInMessages) {
  testing::asserts("SEM-201");
  EXPECT_EQ(failure_of(with(kTorchrun, "RANK", std::string(205, '7'))),
            "RANK holds \"" + std::string(200, '7') +
                "\" and 5 bytes more: expected decimal digits, of a number up to 2147483647");
}

TEST(Environments, AreReadFromEntries) {
  const char* const entries[] = {"RANK=1", "EMPTY=", "RANK=2", "no value", "A=b=c", nullptr};
  EXPECT_EQ(environment_from(entries), (Environment{{"RANK", "1"}, {"EMPTY", ""}, {"A", "b=c"}}));
  EXPECT_EQ(environment_from(nullptr), Environment{});
}

TEST(DeviceShares, AreEvenAndFitTheHost) {
  testing::asserts("SEM-205");
  EXPECT_EQ(devices_of_process({.local_rank = 0, .per_process = 3, .on_host = 7}),
            (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(devices_of_process({.local_rank = 1, .per_process = 3, .on_host = 7}),
            (std::vector<int>{3, 4, 5}));
  for (const DeviceShare& share :
       {DeviceShare{.local_rank = 2, .per_process = 3, .on_host = 7},
        DeviceShare{.local_rank = -1, .per_process = 1, .on_host = 7},
        DeviceShare{.local_rank = 0, .per_process = -1, .on_host = 7},
        DeviceShare{.local_rank = 0, .per_process = 0, .on_host = -1},
        DeviceShare{.local_rank = 2'000'000'000, .per_process = 2'000'000'000, .on_host = 7}}) {
    refusal_of([&] { static_cast<void>(devices_of_process(share)); });
  }
  EXPECT_EQ(
      refusal_of([] {
        static_cast<void>(devices_of_process({.local_rank = 2, .per_process = 3, .on_host = 7}));
      }).summary,
      "the host has 7 devices, and process 2 of the host has no share of 3");
}

TEST(ClusterPrinting, ValuesPrint) {
  std::ostringstream out;
  out << resolve(kOpenMpi) << '\n'
      << ProcessIdentity{} << '\n'
      << ClusterSpec{.jobs = {{"ps", {"a:1"}}, {"worker", {"b:1", "c:1"}}}} << '\n'
      << ClusterSpec{} << '\n'
      << DeviceShare{.local_rank = 1, .per_process = 1, .on_host = 4};
  EXPECT_EQ(out.str(),
            "process 2 of 4, local 1, told by Open MPI\n"
            "process 0 of 1, local 0, told by no source\n"
            "ps [a:1], worker [b:1, c:1]\n"
            "no jobs\n"
            "{.local_rank = 1, .on_host = 4}");
}

}  // namespace
}  // namespace belfry::cluster_environment_test
