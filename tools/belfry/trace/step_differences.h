// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::tool {

/// A place where two traces, A and B, differ.
struct StepDifference {
  enum class Kind : std::uint8_t {
    kStep,    ///< The agent does something else.
    kValues,  ///< The same step, with other values.
    kMissing  ///< A step of one trace alone.
  };

  Kind kind = Kind::kStep;
  const TraceStep* a = nullptr;  ///< Null for a step of B alone.
  const TraceStep* b = nullptr;  ///< Null for a step of A alone.
};

/// The comparison of each agent of A with the same agent of B, step by step: kinds, names,
/// operations, variables and values, and whether the steps failed. Lines are compared apart: an
/// edit moves lines. Bookkeeping and events are not compared.
struct StepDifferences {
  std::vector<StepDifference> all{};    ///< In the order of the steps of A, where A has the step.
  std::vector<StepDifference> lines{};  ///< Equal steps at different lines.
  std::vector<std::string> notes{};     ///< What was not compared.
};

/// Streams are compared only if the backends are equal. The comparison of an agent ends at the
/// first difference of kind kStep.
StepDifferences compare_steps(const Trace& a, const Trace& b);

}  // namespace belfry::tool
