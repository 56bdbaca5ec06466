// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/step_differences.h"

#include <optional>
#include <string>
#include <vector>

namespace belfry::tool {

/// The largest relative difference of rounding: the order of additions depends on the number of
/// replicas.
inline constexpr double kRounding = 1e-5;

/// The number in the text of an element; none for other texts.
std::optional<double> number_of(const std::string& text);
/// The relative difference of the shown elements; none for elements without numbers, for unequal
/// counts, and for unknown values.
std::optional<double> relative_difference(const TraceValue& a, const TraceValue& b);
/// `each shown element of B is 2 times that of A`; empty without a common factor.
std::string factor_between(const TraceValue& a, const TraceValue& b);

/// Compares the results of two runs with unequal numbers of replicas, for replica 0: results of
/// merges, by run and merge; written variables, by version; reads by the host and the work of
/// merges, by line. The notes count differences up to kRounding.
StepDifferences compare_results(const Trace& a, const Trace& b);

}  // namespace belfry::tool
