// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs in the processes of mpirun: every process computes the program on a single
// strategy with all replicas, too.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "processes/group_kind.h"
#include "processes/heard_faults.h"
#include "processes/over_processes.h"
#include "processes/process_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

constexpr int kCases = 12;

void expect_the_bits_of_one(ProcessGroup& group, const ProcessProgram& program) {
  const auto rank = static_cast<std::size_t>(group.rank());
  sim::Backend backend{{.devices = program.devices[rank], .seed = 3 + rank}, sim::Attachments{}};
  MultiWorkerMirroredStrategy strategy{backend, group, {.order = program.order}};
  Trace after;
  const PerReplica<Trace> own =
      run_program(strategy, program, program.first_value(group.rank()), &after);
  Trace after_alone;
  const PerReplica<Trace> expected = run_alone(program, &after_alone);
  for (int id = 0; id < own.size(); ++id) {
    const bool is_here = program.process_of(id) == group.rank() && expected.has(id);
    RC_ASSERT(own.has(id) == is_here);
    if (is_here) RC_ASSERT(own[id] == expected[id]);
  }
  RC_ASSERT(after == after_alone);
}

// A fault of one replica, then a run without a fault on the same strategy.
void expect_fault_everywhere(ProcessGroup& group, const ProcessProgram& program) {
  const auto rank = static_cast<std::size_t>(group.rank());
  sim::Backend backend{sim::Options{.devices = program.devices[rank], .seed = 3 + rank},
                       sim::Attachments{}};
  MultiWorkerMirroredStrategy strategy{backend, group, {.order = program.order}};
  std::exception_ptr error;
  try {
    run_program(strategy, program, program.first_value(group.rank()));
  } catch (const ProcessLostError&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  const std::string own = text_of(error);
  const auto first = group.gather(std::as_bytes(std::span(own))).front();
  expect_fault_heard(program, group.rank(), error,
                     {reinterpret_cast<const char*>(first.data()), first.size()});
  const PerReplica<double> ones =
      strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1.0); });
  for (const double sum : ones) RC_ASSERT(sum == program.replicas());
}

TEST(MpiPrograms, HearOfTheFaultOfOneReplica) {
  on_each_process([](ProcessGroup& group) {
    if (group.size() == 1) return;
    EXPECT_EQ(mistake_over_processes(group, "faults", 2 * kCases,
                                     [&group]() -> std::function<void()> {
                                       const auto program = with_a_fault(program_of(group.size()));
                                       return [&group, program] {
                                         expect_fault_everywhere(group, program);
                                       };
                                     }),
              "");
  });
}

TEST(MpiPrograms, ComputeTheBitsOfOneStrategyWithAllReplicas) {
  on_each_process([](ProcessGroup& group) {
    EXPECT_EQ(mistake_over_processes(group, "programs", kCases,
                                     [&group]() -> std::function<void()> {
                                       const ProcessProgram program = program_of(group.size());
                                       return [&group, program] {
                                         expect_the_bits_of_one(group, program);
                                       };
                                     }),
              "");
  });
}

// Process 0, and then the last process, has no devices: of 2 to 4 processes with two devices each,
// one listens. With n replicas, replica r adds 1 + r to 5: the sum is 5 + n (n + 1) / 2.
TEST(MpiPrograms, AProcessHasNoDevices) {
  testing::asserts("SEM-213");
  testing::asserts("SEM-238");
  on_each_process([](ProcessGroup& group) {
    for (const int without : {0, group.size() - 1}) {
      sim::Backend simulated{{.devices = group.rank() == without ? 0 : 2}, sim::Attachments{}};
      HostBackend none(0);
      const bool is_host = group.rank() == without && without > 0;
      MultiWorkerMirroredStrategy strategy{is_host ? static_cast<Backend&>(none) : simulated,
                                           group};
      const int replicas = 2 * (group.size() - 1);
      EXPECT_EQ(strategy.num_replicas(), replicas);
      EXPECT_EQ(strategy.devices().empty(), group.rank() == without);
      const auto weight = strategy.mirrored_variable([] { return Tensor<double>::full({2}, 5); },
                                                     {.aggregation = Aggregation::kSum});
      int calls = 0;
      const auto sums = strategy.run([&](ReplicaContext& replica) {
        ++calls;
        replica.assign_add(weight, Tensor<double>::full({2}, 1 + replica.replica_id()));
        return replica.all_reduce(ReduceOp::kSum, 1);
      });
      EXPECT_EQ(calls, group.rank() == without ? 0 : 2);
      EXPECT_EQ(std::distance(sums.begin(), sums.end()), calls);
      for (const int sum : sums) EXPECT_EQ(sum, replicas);
      const double expected = 5 + replicas * (replicas + 1) / 2.0;
      EXPECT_EQ(strategy.read(weight).to_host(), std::vector<double>(2, expected));
    }
  });
}

// The same cases in all processes, and the same smallest case, although only process 1 finds fault.
TEST(MpiPrograms, ShrinkAlikeInAllProcesses) {
  on_each_process([](ProcessGroup& group) {
    const std::string mistake =
        mistake_over_processes(group, "numbers", 100, [&group]() -> std::function<void()> {
          const int number = *rc::gen::inRange(0, 1000).as("number");
          return [&group, number] { RC_ASSERT(group.rank() != 1 || number < 100); };
        });
    EXPECT_NE(mistake.find("in process 1: "), std::string::npos) << mistake;
    EXPECT_NE(mistake.find("with number: 100"), std::string::npos) << mistake;
  });
}

}  // namespace
}  // namespace belfry::testing
