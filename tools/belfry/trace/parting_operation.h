// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace.h"

#include <optional>
#include <string>
#include <vector>

namespace belfry::tool {

/// The first operation in which several replicas compute something else than one replica.
struct PartingOperation {
  const TraceStep* one = nullptr;        ///< Of the single replica.
  std::vector<const TraceStep*> many{};  ///< Of the replicas with other values.
  std::string reason{};
};

/// Looks for the operation among the causes of a result. `one` is a trace on a single replica. The
/// step `of_one` of `one` and the step `result` of `many` have different values. The values of
/// replicas fit the value of a single replica if all are equal, if the value is the sum or the mean
/// of the values, or if the values are parts of the value, in replica order. Nothing if a trace
/// lacks the operations.
std::optional<PartingOperation> parting_operation(const Trace& one, const Trace& many,
                                                  const TraceStep& of_one, const TraceStep& result);

}  // namespace belfry::tool
