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

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return number;
}

// The run and the number of the merge, or the variable and the version.
using Key = std::tuple<std::string, std::int64_t, std::int64_t>;

std::vector<std::pair<Key, const TraceStep*>> results_of(const Trace& trace) {
  std::vector<std::pair<Key, const TraceStep*>> results;
  std::set<Key> known_keys;
  const auto add = [&](const Key& key, const TraceStep& step) {
    if (known_keys.insert(key).second) results.emplace_back(key, &step);
  };
  for (const TraceStep& step : trace.steps) {
    const TraceAgent& agent = trace.agent_of(step);
    const bool first =
        agent.kind != TraceAgent::Kind::kReplica || (agent.index == 0 && agent.host == 0);
    if (!first) continue;
    if (step.kind == StepKind::kResume) add({"", step.run, step.round}, step);
    const auto known = trace.variables.find(step.variable);
    const bool local = known != trace.variables.end() && known->second.kind == "replica_local";
    if (step.kind == StepKind::kVariableWrite && !local) {
      add({trace.variable_of(step), step.version, 0}, step);
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
  const auto of_a = results_of(a);
  std::map<Key, const TraceStep*> of_b;
  for (const auto& [key, step] : results_of(b)) of_b.emplace(key, step);
  int rounded = 0;
  for (const auto& [key, step] : of_a) {
    const auto found = of_b.find(key);
    if (found == of_b.end()) {
      if (b.cut == 0) differences.all.push_back({StepDifference::Kind::kMissing, step, nullptr});
      continue;
    }
    const TraceStep& other = *found->second;
    const Closeness closeness =
        std::max(closeness_of(step->gets, other.gets), closeness_of(step->writes, other.writes));
    if (closeness == Closeness::kOther) {
      differences.all.push_back({StepDifference::Kind::kValues, step, &other});
    }
    if (closeness == Closeness::kRounded) ++rounded;
    of_b.erase(found);
  }
  for (const auto& [key, step] : of_b) {
    if (a.cut == 0) differences.all.push_back({StepDifference::Kind::kMissing, nullptr, step});
  }
  differences.notes.push_back(fmt::format(
      "{} and {} replicas: the results of merges and the written variables were compared, not the "
      "steps",
      a.replicas, b.replicas));
  if (rounded > 0) {
    differences.notes.push_back(fmt::format(
        "{} results differ by at most 1 part in 100,000, which may be rounding", rounded));
  }
  return differences;
}

}  // namespace belfry::tool
