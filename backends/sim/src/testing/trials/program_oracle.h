// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/trials/program_outcome.h"
#include "testing/trials/public_program.h"

#include <optional>

namespace belfry::sim::testing {

/// The outcome of a private program, computed position by position on plain numbers, without
/// belfry. Nothing for programs with races, and for programs in which a replica leaves out a step.
std::optional<ProgramOutcome> predict(const PublicProgram& program);

}  // namespace belfry::sim::testing
