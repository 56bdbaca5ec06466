// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "processes/process_program.h"

#include <exception>
#include <string>

namespace belfry::testing {

/// The program with a random fault of a replica that takes part. Context: in a property.
ProcessProgram with_a_fault(ProcessProgram program);

/// The text of the exception; empty without an exception.
std::string text_of(const std::exception_ptr& error);

/// Requires that the run of `process` ended with `error` as the program's fault wants: a mismatch
/// is the same error in all processes, with the text `first` of process 0; an exception leaves the
/// run of its own process, and the rest get PeerFailedError. Throws: RapidCheck's failure.
void expect_fault_heard(const ProcessProgram& program, int process, const std::exception_ptr& error,
                        const std::string& first);

}  // namespace belfry::testing
