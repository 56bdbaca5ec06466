// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "processes/heard_faults.h"

#include "belfry/belfry.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>

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

ErrorCode code_alone(const ProcessProgram& program) {
  try {
    run_alone(program);
  } catch (...) {
    return code_of(std::current_exception());
  }
  return ErrorCode::kInternal;
}

bool is_mismatch(const ProcessProgram& program) {
  const Fault fault = program.failure->fault;
  return fault == Fault::kReturn || fault == Fault::kOtherVerb;
}

// Each process calls the merge function of its lowest replica that takes part. A single replica
// matches itself.
bool happens(const ProcessProgram& program) {
  const int replica = program.failure->replica;
  if (program.failure->fault == Fault::kThrowInMerge) {
    return replica == program.lowest_of(program.process_of(replica));
  }
  return !(is_mismatch(program) && std::ranges::count(program.absent, false) == 1);
}

}  // namespace

ProcessProgram with_a_fault(ProcessProgram program) {
  program.failure = {*rc::gen::inRange(0, program.replicas()),
                     *rc::gen::inRange(0, static_cast<int>(program.verbs.size())),
                     static_cast<Fault>(*rc::gen::inRange(0, kFaults))};
  RC_PRE(!program.absent[static_cast<std::size_t>(program.failure->replica)]);
  return program;
}

std::string text_of(const std::exception_ptr& error) {
  if (error == nullptr) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& own) {
    return own.what();
  }
}

void expect_fault_heard(const ProcessProgram& program, int process, const std::exception_ptr& error,
                        const std::string& first) {
  if (!happens(program)) {
    RC_ASSERT(text_of(error) == "");
    return;
  }
  RC_ASSERT(error != nullptr);
  const int culprit = program.process_of(program.failure->replica);
  if (is_mismatch(program)) {
    RC_ASSERT(code_of(error) == code_alone(program));
    RC_ASSERT(text_of(error) == first);
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

}  // namespace belfry::testing
