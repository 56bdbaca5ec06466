// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace.h"

#include <set>
#include <string>

namespace belfry::tool {

/// The agent in words: `replica 0`, `the merge`, `compute of replica 1`; in a trace
/// of several processes with the process.
std::string agent_words(const Trace& trace, int agent);

/// The number of the replica of an agent: `1`, on a cluster `1 of host 0`.
std::string replica_words(const Trace& trace, const TraceAgent& agent);
/// `replica 1`, `replicas 0, 1`.
std::string replicas_words(const std::set<std::string>& numbers);

/// A step as a sentence without a point, for example
/// `replica 0 arrives at merge 1, merge_call at sum.cpp:10, and brings [1, 2]`. `before`: for a
/// write of a variable the last write of the same component, or null.
std::string step_words(const Trace& trace, const TraceStep& step,
                       const TraceStep* before = nullptr);

/// The rule behind a step.
struct StepRule {
  const char* number = "";  ///< Of docs/semantics.md; empty for none.
  const char* text = "";
};
StepRule rule_of(const Trace& trace, const TraceStep& step);

}  // namespace belfry::tool
