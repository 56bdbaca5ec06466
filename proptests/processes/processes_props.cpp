// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "processes/process_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <typeinfo>
#include <vector>

namespace belfry::testing {
namespace {

ErrorCode code_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& own) {
    return own.code();
  } catch (const PlannedFault&) {
    return ErrorCode::kReplicaThrew;  // The exception itself has no code.
  }
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& own) {
    return own.what();
  }
}

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
    RC_ASSERT((error == nullptr ? "" : text_of(error)) == "");
  }
  for (int id = 0; id < program.replicas(); ++id) {
    const Trace& found = outcome.traces[static_cast<std::size_t>(id)];
    RC_ASSERT(found == (expected.has(id) ? expected[id] : Trace()));
  }
  for (const Trace& found : outcome.after) RC_ASSERT(found == after);
  expect_usable(program, later);
}

RC_GTEST_PROP(Processes, ComputeTheSameBitsOnClusters, ()) {
  const ProcessProgram program = any_program(1);
  const auto seed = *rc::gen::arbitrary<std::uint16_t>();
  Trace after;
  const PerReplica<Trace> expected = run_alone(program, &after);
  std::vector<Trace> traces(static_cast<std::size_t>(program.replicas()));
  std::vector<Trace> afters(program.devices.size());
  sim::Cluster cluster{{.devices_of = program.devices, .seed = seed}};
  cluster.run([&](sim::Host& host) {
    const int rank = host.group().rank();
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group(), {.order = program.order}};
    const PerReplica<Trace> own = run_program(strategy, program, program.first_value(rank),
                                              &afters[static_cast<std::size_t>(rank)]);
    for (int id = 0; id < own.size(); ++id) {
      if (own.has(id)) traces[static_cast<std::size_t>(id)] = own[id];
    }
  });
  for (int id = 0; id < program.replicas(); ++id) {
    const Trace& found = traces[static_cast<std::size_t>(id)];
    RC_ASSERT(found == (expected.has(id) ? expected[id] : Trace()));
  }
  for (const Trace& found : afters) RC_ASSERT(found == after);
}

RC_GTEST_PROP(Processes, RepeatTheirLogs, ()) {
  const ProcessProgram program = any_program(2);
  std::vector<double> later;
  const ProcessOutcome first = run_over_processes(program, later);
  const ProcessOutcome second = run_over_processes(program, later);
  RC_ASSERT(first.hashes == second.hashes);
}

RC_GTEST_PROP(Processes, HearOfTheFaultOfOneReplica, ()) {
  ProcessProgram program = any_program(2);
  program.failure = {*rc::gen::inRange(0, program.replicas()),
                     *rc::gen::inRange(0, static_cast<int>(program.verbs.size())),
                     static_cast<Fault>(*rc::gen::inRange(0, kFaults))};
  RC_PRE(!program.absent[static_cast<std::size_t>(program.failure->replica)]);
  const int culprit = program.process_of(program.failure->replica);
  ErrorCode alone = ErrorCode::kInternal;
  try {
    run_alone(program);
  } catch (...) {
    alone = code_of(std::current_exception());
  }
  std::vector<double> later;
  const ProcessOutcome outcome = run_over_processes(program, later);
  const bool is_mismatch =
      program.failure->fault == Fault::kReturn || program.failure->fault == Fault::kOtherVerb;
  // Each process calls the merge function of its lowest replica that takes part. A single replica
  // matches itself.
  const bool is_alone = std::ranges::count(program.absent, false) == 1;
  const bool runs = program.failure->fault == Fault::kThrowInMerge
                        ? program.failure->replica == program.lowest_of(culprit)
                        : !(is_mismatch && is_alone);
  for (int process = 0; process < static_cast<int>(program.devices.size()); ++process) {
    const std::exception_ptr& error = outcome.errors[static_cast<std::size_t>(process)];
    if (!runs) {
      RC_ASSERT(error == nullptr);
      continue;
    }
    RC_ASSERT(error != nullptr);
    if (is_mismatch) {
      RC_ASSERT(code_of(error) == alone);
      RC_ASSERT(text_of(error) == text_of(outcome.errors.front()));
    } else if (process == culprit) {
      RC_ASSERT(code_of(error) == ErrorCode::kReplicaThrew);
    } else {
      RC_ASSERT(code_of(error) == ErrorCode::kPeerFailed);
      RC_ASSERT(text_of(error).find("process " + std::to_string(culprit)) != std::string::npos);
      const bool has_place = text_of(error).find("process_program.cpp:") != std::string::npos ||
                             text_of(error).find("device_steps.cpp:") != std::string::npos;
      RC_ASSERT(has_place);
    }
  }
  expect_usable(program, later);
}

}  // namespace
}  // namespace belfry::testing
