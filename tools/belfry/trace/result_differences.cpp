// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/result_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace belfry::tool {
namespace {

// `merge` with the run and the number among the merges of replica 0; a variable with the version; a
// read or work of a merge with the line and the number of the earlier ones.
using Key = std::tuple<std::string, std::int64_t, std::int64_t>;

struct Result {
  Key key;
  const TraceStep* step;
  bool in_both;  // Whether the other trace must have the result, too.
};

// Whether a merge enqueued the work, for a device of replica 0: the others do the same.
bool is_of_merge(const Trace& trace, const TraceStep& step) {
  if (step.kind != StepKind::kExecute || trace.agent_of(step).replica != 0) return false;
  return std::ranges::any_of(step.after, [&trace](std::int64_t number) {
    const TraceStep* const before = trace.find(number);
    return before != nullptr && before->kind == StepKind::kEnqueue &&
           trace.agent_of(*before).kind == TraceAgent::Kind::kMerge;
  });
}

std::vector<Result> results_of(const Trace& trace) {
  std::vector<Result> results;
  std::set<Key> known_keys;
  std::map<std::int64_t, std::int64_t> resumes;   // By run.
  std::map<std::string, std::int64_t> counts;     // Of reads and work, by name and line.
  std::map<std::string, const TraceStep*> reads;  // The last, by line.
  const auto add = [&](const Key& key, const TraceStep& step, bool in_both) {
    if (known_keys.insert(key).second) results.push_back({key, &step, in_both});
  };
  for (const TraceStep& step : trace.steps) {
    const TraceAgent& agent = trace.agent_of(step);
    if (agent.host != 0 || (agent.kind == TraceAgent::Kind::kReplica && agent.index != 0)) continue;
    const auto known = trace.variables.find(step.variable);
    const bool local = known != trace.variables.end() && known->second.kind != "mirrored";
    if (step.kind == StepKind::kResume) {
      add({"merge", step.run, ++resumes[step.run]}, step, true);
    } else if (step.kind == StepKind::kVariableWrite && !local) {
      add({"variable " + trace.variable_of(step), step.version, 0}, step, true);
    } else if ((step.kind == StepKind::kHostRead && !step.line.empty() &&
                agent.kind == TraceAgent::Kind::kHost) ||  // A replica may read its share.
               is_of_merge(trace, step)) {
      const std::string place = step.name + " at " + step.line;
      // Components of a mirrored variable are read one after the other, to be compared.
      const TraceStep* const before = std::exchange(reads[place], &step);
      const bool is_read = step.kind == StepKind::kHostRead;
      if (is_read && before != nullptr && !differ(before->reads, step.reads)) continue;
      add({place, counts[place]++, 0}, step, false);
    }
  }
  return results;
}

enum class Closeness : std::uint8_t { kEqual, kRounded, kOther };

Closeness closeness_of(const std::vector<TraceValue>& a, const std::vector<TraceValue>& b) {
  if (!differ(a, b)) return Closeness::kEqual;
  if (a.size() != b.size()) return Closeness::kOther;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape != b[i].shape || a[i].type != b[i].type) return Closeness::kOther;
    const auto distance = relative_difference(a[i], b[i]);
    if (differ(a[i], b[i]) && distance.value_or(1) > kRounding) return Closeness::kOther;
  }
  return Closeness::kRounded;
}

}  // namespace

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return number;
}

std::optional<double> relative_difference(const TraceValue& a, const TraceValue& b) {
  if (a.first.size() != b.first.size() || a.first.empty()) return std::nullopt;
  double largest = 0;
  for (std::size_t i = 0; i < a.first.size(); ++i) {
    const auto x = number_of(a.first[i]);
    const auto y = number_of(b.first[i]);
    if (!x.has_value() || !y.has_value()) return std::nullopt;
    if (a.first[i] == b.first[i]) continue;
    if (!std::isfinite(*x) || !std::isfinite(*y)) return std::nullopt;
    largest = std::max(largest, std::abs(*x - *y) / std::max(std::abs(*x), std::abs(*y)));
  }
  return largest;
}

std::string factor_between(const TraceValue& a, const TraceValue& b) {
  if (a.first.size() != b.first.size() || a.first.empty()) return "";
  std::optional<double> factor;
  for (std::size_t i = 0; i < a.first.size(); ++i) {
    const double x = number_of(a.first[i]).value_or(0);
    const double y = number_of(b.first[i]).value_or(0);
    if (x == 0 && y == 0) continue;
    const double here = y / x;
    if (!std::isfinite(here)) return "";
    if (factor.has_value() && std::abs(here - *factor) > kRounding * std::abs(*factor)) return "";
    if (!factor.has_value()) factor = here;
  }
  if (!factor.has_value() || std::abs(*factor - 1) <= kRounding) return "";
  return fmt::format("each shown element of B is {:.4g} times that of A", *factor);
}

StepDifferences compare_results(const Trace& a, const Trace& b) {
  StepDifferences differences;
  std::map<Key, Result> of_b;
  for (const Result& result : results_of(b)) of_b.emplace(result.key, result);
  int rounded = 0;
  for (const auto& [key, step, in_both] : results_of(a)) {
    const auto found = of_b.find(key);
    if (found == of_b.end()) {
      const bool lacks = in_both && b.cut == 0;
      if (lacks) differences.all.push_back({StepDifference::Kind::kMissing, step, nullptr});
      continue;
    }
    const TraceStep& other = *found->second.step;
    const bool reads = step->kind == StepKind::kHostRead;
    const Closeness closeness =
        std::max({closeness_of(step->gets, other.gets), closeness_of(step->writes, other.writes),
                  reads ? closeness_of(step->reads, other.reads) : Closeness::kEqual});
    if (closeness == Closeness::kOther) {
      differences.all.push_back({StepDifference::Kind::kValues, step, &other});
    }
    if (closeness == Closeness::kRounded) ++rounded;
    of_b.erase(found);
  }
  for (const auto& [key, result] : of_b) {
    const bool lacks = result.in_both && a.cut == 0;
    if (lacks) differences.all.push_back({StepDifference::Kind::kMissing, nullptr, result.step});
  }
  differences.notes.push_back(
      fmt::format("{} and {} replicas: results of merges, work of merges, variables and reads were "
                  "compared, not "
                  "all steps",
                  a.replicas, b.replicas));
  if (rounded > 0) {
    differences.notes.push_back(fmt::format(
        "{} results differ by at most 1 part in 100,000, which may be rounding", rounded));
  }
  return differences;
}

}  // namespace belfry::tool
