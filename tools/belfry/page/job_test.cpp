// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Traces of the processes of a job, which are threads here, and the commands that read them.
#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/thread_group.h"
#include "exit_code.h"
#include "page/page.h"
#include "trace/diff.h"
#include "trace/explain.h"
#include "trace/trace_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace belfry::tool::job_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string path_of(int rank) {
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  return ::testing::TempDir() + "belfry_job_" + name + "." + std::to_string(rank) + ".jsonl";
}

// Replica r brings [r + 1, r + 1], and gets [3, 3].
void train(Backend& backend, ProcessGroup& group) {
  MultiWorkerMirroredStrategy strategy{backend, group};
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto x = Tensor<float>::full({2}, 1.0F + static_cast<float>(replica.replica_id()));
    return replica.all_reduce(ReduceOp::kSum, x);
  });
  for (const Tensor<float>& sum : sums) EXPECT_EQ(sum.to_host(), (std::vector<float>{3, 3}));
}

void train_on_sim(ProcessGroup& group) {
  TraceFile trace{path_of(group.rank()), {.program = "job"}};
  sim::Backend backend{{.devices = 1}, sim::Attachments{.trace = &trace}};
  train(backend, group);
}

std::vector<std::string> paths() { return {path_of(0), path_of(1)}; }

std::string explained(const ExplainOptions& options) {
  std::ostringstream out;
  Console console(out, out, {});
  EXPECT_EQ(explain(options, console), ExitCode::kGood);
  return out.str();
}

TEST(Job, TracesNameTheirProcess) {
  testing::run_processes(2, train_on_sim);
  for (int rank : {0, 1}) {
    const Trace trace = read_trace(path_of(rank));
    EXPECT_EQ(trace.process, rank);
    EXPECT_EQ(trace.processes, 2);
  }
  EXPECT_THAT(explained({.files = paths()}),
              AllOf(HasSubstr("process 1 of 2"),
                    HasSubstr("replica 0 of process 0 arrives at merge 1, all_reduce"),
                    HasSubstr("and brings [1, 1]"),
                    HasSubstr("replica 0 of process 1 arrives at merge 1, all_reduce"),
                    HasSubstr("and brings [2, 2]"),
                    HasSubstr("merge 1, all_reduce at job_test.cpp:41, is done once for all "
                              "replicas of process 1: the replicas arrived in step 4"),
                    HasSubstr("and gets [3, 3]")));
}

TEST(Job, TracesOfTwoRunsAreTheSame) {
  testing::run_processes(2, train_on_sim);
  const Trace before = read_trace(path_of(1));
  testing::run_processes(2, train_on_sim);
  std::ostringstream out;
  Console console(out, out, {});
  EXPECT_EQ(diff_traces(before, read_trace(path_of(1)), false, console), ExitCode::kGood);
  // The other process brings other values.
  EXPECT_EQ(diff({.a = path_of(0), .b = path_of(1)}, console), ExitCode::kMismatch);
}

TEST(Job, TracesOfGpusNameTheirProcess) {
  const sim::SimulatedDriver driver({.gpus = 2, .seed = 3});
  testing::run_processes(2, [](ProcessGroup& group) {
    TraceFile trace{path_of(group.rank())};
    cuda::Backend backend{{.devices = {group.rank()}, .trace = &trace, .warm_up = false}};
    train(backend, group);
  });
  EXPECT_THAT(explained({.files = paths()}),
              AllOf(HasSubstr("steps on cuda"), HasSubstr("process 1 of 2"),
                    HasSubstr("replica 0 of process 1 arrives at merge 1, all_reduce")));
}

// Each replica brings 1 to the first sum, and its half to the second.
void sum_twice(Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto x = replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1));
    return replica.all_reduce(ReduceOp::kSum, multiply(x, 0.5F));
  });
  EXPECT_EQ(sums[1].to_host(), (std::vector<float>{2, 2}));
}

TEST(Job, TracesOfGpusHaveTheWorkOfTheSimulators) {
  {
    TraceFile trace{path_of(0)};
    sim::Backend backend{{.devices = 2}, sim::Attachments{.trace = &trace}};
    sum_twice(backend);
  }
  {
    const sim::SimulatedDriver driver({.gpus = 2, .seed = 3});
    TraceFile trace{path_of(1)};
    cuda::Backend backend{{.trace = &trace}};
    sum_twice(backend);
  }
  const std::string gpus = explained({.files = {path_of(1)}});
  for (const std::string line :
       {"replica 1 enqueues scale at job_test.cpp:107, to be done by compute of replica 1",
        "the merge enqueues all_reduce at job_test.cpp:106, to be done by communication of replica "
        "0",
        "the host reads a device's memory at job_test.cpp:109: reads [2, 2]"}) {
    EXPECT_THAT(gpus, HasSubstr(line));
  }
  std::ostringstream out;
  Console console(out, out, {});
  EXPECT_EQ(diff({.a = path_of(0), .b = path_of(1)}, console), ExitCode::kGood) << out.str();
}

TEST(Job, TracesOfTwoJobsAreRefused) {
  testing::run_processes(2, train_on_sim);
  const std::string alone = path_of(2);
  {
    TraceFile trace{alone};
    sim::Backend backend{{.devices = 1}, sim::Attachments{.trace = &trace}};
  }
  const auto error = [](const std::vector<std::string>& traces) -> std::string {
    try {
      write_page({.traces = traces, .page = path_of(9)});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error(paths()), "none");
  EXPECT_THAT(error({path_of(1), path_of(1)}),
              HasSubstr(path_of(1) + " and " + path_of(1) + " are both of process 1"));
  EXPECT_THAT(error({path_of(1), alone}),
              HasSubstr("are not of one job: 1 and 2 processes, on sim and sim"));
}

// A process joins its group after the first steps.
TEST(Job, TracesBeginBeforeTheGroup) {
  testing::run_processes(2, [](ProcessGroup& group) {
    TraceFile trace{path_of(group.rank())};
    sim::Backend backend{{.devices = 1}, sim::Attachments{.trace = &trace}};
    MirroredStrategy alone{backend};
    alone.run([](ReplicaContext&) {});
    train(backend, group);
  });
  EXPECT_EQ(read_trace(path_of(1)).process, 1);
  EXPECT_EQ(read_job(paths()).processes.size(), 2u);
}

}  // namespace
}  // namespace belfry::tool::job_test
