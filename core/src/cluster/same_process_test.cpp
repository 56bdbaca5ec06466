// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Numbers of MPI beside the variables of launchers: right and wrong ways to start a program.
#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace belfry::same_process_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Environment joined(std::initializer_list<Environment> parts) {
  Environment all;  // The first part with a variable counts: the innermost launcher.
  for (const Environment& part : parts) all.insert(part.begin(), part.end());
  return all;
}

Environment mpirun(int rank, int size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
          {"PMIX_RANK", std::to_string(rank)}};
}

Environment pmi(int rank, int size) {
  return {{"PMI_RANK", std::to_string(rank)}, {"PMI_SIZE", std::to_string(size)}};
}

Environment step(int rank, int size) {
  return {{"SLURM_JOB_ID", "7"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NTASKS", std::to_string(size)},
          {"SLURM_STEP_NUM_TASKS", std::to_string(size)}};
}

Environment torchrun(int rank, int size) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(rank)}};
}

Environment tf_config(const std::string& task) {
  return {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1", "b:1"]})" + task + "}"}};
}

const Environment kBatchScript{{"SLURM_JOB_ID", "7"},  {"SLURM_PROCID", "0"},
                               {"SLURM_LOCALID", "0"}, {"SLURM_NTASKS", "4"},
                               {"SLURM_NNODES", "2"},  {"SLURM_TASKS_PER_NODE", "2(x2)"}};
const Environment kSallocShell{{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "2"}};

struct Launch {
  std::string name;
  Environment environment;
  int rank;  // Of MPI.
  int size;
};

// Environments of process `rank` of MPI.
TEST(RightLaunches, Pass) {
  testing::asserts("SEM-204");
  const std::vector<Launch> launches{
      {"a plain start", {{"PATH", "/bin"}}, 0, 1},
      {"mpirun", mpirun(2, 4), 2, 4},
      {"a batch job with mpirun inside", joined({mpirun(3, 4), kBatchScript}), 3, 4},
      {"mpirun in a batch job, on a host that a step of mpirun reached",
       joined({mpirun(3, 4), step(1, 2)}), 3, 4},
      {"a plain start in a batch job", kBatchScript, 0, 1},
      {"a plain start in the shell of salloc", kSallocShell, 0, 1},
      {"mpirun in a shell of salloc that is a step",
       joined({mpirun(1, 4), step(0, 1), pmi(0, 1), kSallocShell}), 1, 4},
      {"srun --mpi=pmi2", joined({step(2, 4), pmi(2, 4)}), 2, 4},
      {"srun --mpi=pmix", joined({step(2, 4), {{"PMIX_RANK", "2"}}}), 2, 4},
      {"the mpiexec of MPICH in a step of srun --mpi=pmix",
       joined({pmi(3, 4), step(0, 1), {{"PMIX_RANK", "0"}}}), 3, 4},
      {"mpirun in the process of an agent of torchrun", joined({mpirun(3, 4), torchrun(1, 2)}), 3,
       4},
      {"mpirun with a cluster of TF_CONFIG for all", joined({mpirun(1, 2), tf_config("")}), 1, 2},
  };
  EXPECT_EQ(launches.size(), 12U);
  for (const Launch& launch : launches) {
    EXPECT_NO_THROW(require_same_process(launch.environment, launch.rank, launch.size))
        << launch.name;
  }
}

// Numbers of the program count alone.
TEST(RightLaunches, HaveNumbersOfTheProgram) {
  testing::asserts("SEM-204");
  EXPECT_NO_THROW(require_same_process(torchrun(1, 2), 2, 4, ProcessNumbers{.rank = 2, .size = 4}));
}

ErrorReport refusal_of(const Environment& environment, int rank, int size,
                       const std::optional<ProcessNumbers>& given = std::nullopt) {
  const ErrorReport report =
      report_of([&] { require_same_process(environment, rank, size, given); });
  EXPECT_EQ(report.site.line, __LINE__ - 1);
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  return report;
}

Environment without(Environment environment, const std::string& name) {
  environment.erase(name);
  return environment;
}

struct WrongLaunch {
  Environment environment;
  std::string part;  // Of the text.
  std::string variable;
};

// The launcher counts three processes, and MPI a lone process. Each variable may lack. Process 0
// has the right rank.
TEST(WrongLaunches, HaveAForeignLauncher) {
  testing::asserts("SEM-204");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    const std::vector<WrongLaunch> launches{
        {pmi(rank, 3), "process " + number + " of 3, told by PMI", "PMI_SIZE"},
        {without(pmi(rank, 3), "PMI_RANK"), "a process of 3, told by PMI", "PMI_SIZE"},
        {torchrun(rank, 3), "process " + number + " of 3, told by torchrun", "WORLD_SIZE"},
        {without(torchrun(rank, 3), "LOCAL_RANK"), "process " + number + " of 3, told by torchrun",
         "WORLD_SIZE"},
        {without(torchrun(rank, 3), "RANK"), "a process of 3, told by torchrun", "WORLD_SIZE"},
        {step(rank, 3), "process " + number + " of 3, told by Slurm", "SLURM_STEP_NUM_TASKS"},
        {without(step(rank, 3), "SLURM_LOCALID"), "process " + number + " of 3, told by Slurm",
         "SLURM_STEP_NUM_TASKS"},
        {without(step(rank, 3), "SLURM_PROCID"), "a process of 3, told by Slurm",
         "SLURM_STEP_NUM_TASKS"},
        {joined({step(rank, 3), {{"PMIX_RANK", number}}}),
         "process " + number + " of 3, told by Slurm", "SLURM_STEP_NUM_TASKS"},
        {mpirun(rank, 3), "process " + number + " of 3, told by Open MPI", "OMPI_COMM_WORLD_SIZE"},
        // A process of a step starts torchrun.
        {joined({torchrun(rank, 3), step(0, 1), pmi(0, 1)}),
         "process " + number + " of 3, told by torchrun", "WORLD_SIZE"},
    };
    for (const WrongLaunch& launch : launches) {
      const ErrorReport report = refusal_of(launch.environment, 0, 1);
      EXPECT_THAT(report.summary, AllOf(HasSubstr(launch.part + ", is process 0 of 1 of MPI"),
                                        HasSubstr(launch.variable + " holds \"3\"")));
      EXPECT_THAT(report.hint, AllOf(HasSubstr("`mpirun -n 3`"), HasSubstr("srun --mpi=pmix -n 3"),
                                     HasSubstr("check_launcher = false")));
    }
  }
}

// A rank alone differs; the number of processes is unknown.
TEST(WrongLaunches, HaveAnotherRank) {
  testing::asserts("SEM-204");
  for (const int rank : {1, 2}) {
    EXPECT_THAT(refusal_of(without(torchrun(rank, 3), "WORLD_SIZE"), 0, 1).summary,
                HasSubstr("process " + std::to_string(rank) + ", told by torchrun, is process 0"));
    EXPECT_THAT(
        refusal_of(mpirun(rank, 3), 0, 3).summary,
        HasSubstr("told by Open MPI, is process 0 of 3 of MPI: OMPI_COMM_WORLD_RANK holds"));
    EXPECT_EQ(refusal_of({{"PMIX_RANK", std::to_string(rank)}}, 0, 1).summary,
              "PMIX_RANK holds \"" + std::to_string(rank) + "\": this is process 0 of 1 of MPI");
  }
  // A word of the shell, not of torchrun.
  EXPECT_NO_THROW(require_same_process({{"RANK", "captain"}}, 0, 1));
}

TEST(WrongLaunches, HaveATfConfigOfOtherProcesses) {
  testing::asserts("SEM-204");
  const std::string worker = R"(, "task": {"type": "worker", "index": 0})";
  EXPECT_THAT(refusal_of(tf_config(worker), 0, 1).summary,
              HasSubstr("process 0 of 2, local 0, worker 0, told by TF_CONFIG, is process 0 of 1"));
  EXPECT_THAT(refusal_of(tf_config(worker), 1, 2).summary,
              HasSubstr("worker 0, told by TF_CONFIG, is process 1 of 2 of MPI: TF_CONFIG holds"));
  const ErrorReport report = refusal_of(tf_config(""), 0, 1);
  EXPECT_THAT(report.summary,
              HasSubstr("a process of 2 without a task, told by TF_CONFIG, is process 0 of 1 of "
                        "MPI: TF_CONFIG holds"));
  EXPECT_THAT(report.hint, HasSubstr("`mpirun -n 2`"));
}

TEST(WrongLaunches, HaveOtherNumbersOfTheProgram) {
  testing::asserts("SEM-204");
  EXPECT_EQ(refusal_of(mpirun(2, 4), 2, 4, ProcessNumbers{.rank = 2, .size = 5}).summary,
            "process 2 of 5, local 0, told by the program, is process 2 of 4 of MPI");
}

}  // namespace
}  // namespace belfry::same_process_test
