// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace_job.h"

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace belfry::tool {

/// The last write of each component of each variable, while a reader goes through the steps.
class VariableStates {
 public:
  explicit VariableStates(const TraceJob& job) : job_(job) {}

  /// Returns the write before, or null. Steps without a known value change nothing.
  const TraceStep* add(const JobStep& at);
  /// A line for each variable: `weight: [1] everywhere, version 2`; different components have a
  /// line each, and a line of warning if the variable is mirrored.
  std::vector<std::string> lines() const;
  /// The same as objects of JSON, one for each component.
  std::vector<std::string> json() const;

 private:
  struct Key {
    std::size_t process;
    std::int64_t variable;
    int agent;  // The replica of the component; below 0: all replicas of a host see it.
    auto operator<=>(const Key&) const = default;
  };

  const TraceJob& job_;
  std::map<Key, JobStep> last_;
};

}  // namespace belfry::tool
