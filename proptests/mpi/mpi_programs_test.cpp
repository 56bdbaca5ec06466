// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs in the processes of mpirun: every process computes the program on a single
// strategy with all replicas, too.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "processes/group_kind.h"
#include "processes/over_processes.h"
#include "processes/process_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <functional>
#include <string>

namespace belfry::testing {
namespace {

constexpr int kCases = 12;

void expect_the_bits_of_one(ProcessGroup& group, const ProcessProgram& program) {
  const auto rank = static_cast<std::size_t>(group.rank());
  sim::Backend backend{sim::Options{.devices = program.devices[rank], .seed = 3 + rank},
                       sim::Attachments{.may_lack_devices = true}};
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
