// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "processes/heard_faults.h"
#include "processes/process_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <exception>
#include <vector>

namespace belfry::testing {
namespace {

void expect_usable(const ProcessProgram& program, const std::vector<double>& later) {
  for (const double sum : later) RC_ASSERT(sum == program.replicas());
}

RC_GTEST_PROP(Processes, ComputeTheBitsOfOneStrategyWithAllReplicas, ()) {
  const ProcessProgram program = any_program(1);
  Trace after;
  const PerReplica<Trace> expected = run_alone(program, &after);
  std::vector<double> later;
  const ProcessOutcome outcome = run_over_processes(program, later);
  for (const std::exception_ptr& error : outcome.errors) {
    RC_ASSERT(text_of(error) == "");
  }
  for (int id = 0; id < program.replicas(); ++id) {
    const Trace& found = outcome.traces[static_cast<std::size_t>(id)];
    RC_ASSERT(found == (expected.has(id) ? expected[id] : Trace()));
  }
  for (const Trace& found : outcome.after) RC_ASSERT(found == after);
  expect_usable(program, later);
}

RC_GTEST_PROP(Processes, RepeatTheirLogs, ()) {
  const ProcessProgram program = any_program(2);
  std::vector<double> later;
  const ProcessOutcome first = run_over_processes(program, later);
  const ProcessOutcome second = run_over_processes(program, later);
  RC_ASSERT(first.hashes == second.hashes);
}

RC_GTEST_PROP(Processes, HearOfTheFaultOfOneReplica, ()) {
  const ProcessProgram program = with_a_fault(any_program(2));
  std::vector<double> later;
  const ProcessOutcome outcome = run_over_processes(program, later);
  for (int process = 0; process < static_cast<int>(program.devices.size()); ++process) {
    expect_fault_heard(program, process, outcome.errors[static_cast<std::size_t>(process)],
                       text_of(outcome.errors.front()));
  }
  expect_usable(program, later);
}

}  // namespace
}  // namespace belfry::testing
