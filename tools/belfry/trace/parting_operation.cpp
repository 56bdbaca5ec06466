// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/parting_operation.h"

#include "trace/data_flow.h"
#include "trace/result_differences.h"
#include "trace/step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace belfry::tool {
namespace {

using Replica = std::pair<std::int64_t, std::int64_t>;                    // Host, index.
using OperationKey = std::tuple<std::string, std::string, std::int64_t>;  // Name, line, number.
using OfReplicas = std::map<Replica, const TraceStep*>;                   // In replica order.
using Values = std::vector<TraceValue> TraceStep::*;

// The values of replicas in relation to the value of a single replica.
enum class Relation : std::uint8_t { kUnknown, kSame, kParts, kSum, kMean, kNone };

Replica replica_of(const Trace& trace, const TraceStep& step) {
  const TraceAgent& agent = trace.agent_of(step);
  return {agent.host, agent.replica};
}

// The work of each replica. The k-th work of a name and line is the same operation on all replicas.
class Works {
 public:
  Works(const Trace& trace, const DataFlow& flow) {
    std::vector<std::pair<std::int64_t, const TraceStep*>> works;
    for (const TraceStep& step : trace.steps) {
      const bool is_known = is_work(step) && replica_of(trace, step).second >= 0;
      if (is_known) works.emplace_back(flow.place_of(step), &step);
    }
    std::ranges::sort(works);
    std::map<std::tuple<Replica, std::string, std::string>, std::int64_t> counts;
    for (const auto& [place, step] : works) {
      const Replica replica = replica_of(trace, *step);
      const OperationKey key{step->name, step->line, counts[{replica, step->name, step->line}]++};
      keys_[step] = key;
      const auto [known, added] = operations_.try_emplace(key);
      if (added) order_.push_back(key);
      known->second[replica] = step;
      replicas_[replica] = step;
    }
  }

  const std::vector<OperationKey>& order() const { return order_; }
  const OperationKey& key_of(const TraceStep& work) const { return keys_.at(&work); }
  const OfReplicas& replicas() const { return replicas_; }  ///< With any work of each.
  bool has(const TraceStep& work) const { return keys_.contains(&work); }
  OfReplicas of(const OperationKey& key) const {
    const auto found = operations_.find(key);
    return found == operations_.end() ? OfReplicas() : found->second;
  }

 private:
  std::vector<OperationKey> order_;  // Of the program.
  std::map<const TraceStep*, OperationKey> keys_;
  std::map<OperationKey, OfReplicas> operations_;
  OfReplicas replicas_;
};

// The numbers of a value, as far as the trace has numbers.
std::vector<double> numbers_of(const TraceValue& value) {
  std::vector<double> numbers;
  for (const std::string& text : value.first) {
    const auto number = number_of(text);
    if (!number.has_value()) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

bool are_close(double one, double other, double size) {
  return one == other || std::abs(one - other) <= kRounding * size;
}

Relation relation_of_parts(const TraceValue& one, const std::vector<const TraceValue*>& many) {
  std::int64_t count = 0;
  for (const TraceValue* const value : many) count += value->count;
  if (count != one.count) return Relation::kNone;
  const std::vector<double> whole = numbers_of(one);
  std::size_t at = 0;
  for (const TraceValue* const value : many) {
    for (const double number : numbers_of(*value)) {
      if (at == whole.size()) return Relation::kParts;
      if (!are_close(whole[at], number, std::abs(number))) return Relation::kNone;
      ++at;
    }
    if (value->count > static_cast<std::int64_t>(value->first.size()))
      break;  // The rest is unseen.
  }
  return Relation::kParts;
}

Relation relation_of(const TraceValue& one, const std::vector<const TraceValue*>& many) {
  const bool is_equal_size = std::ranges::all_of(
      many, [&one](const TraceValue* value) { return value->count == one.count; });
  if (!is_equal_size || one.count == 0) return relation_of_parts(one, many);
  const std::vector<double> whole = numbers_of(one);
  bool same = true;
  bool sum = true;
  bool mean = true;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    double total = 0;
    double size = 0;
    for (const TraceValue* const value : many) {
      const std::vector<double> part = numbers_of(*value);
      if (i >= part.size()) return Relation::kUnknown;
      total += part[i];
      size += std::abs(part[i]);
      same = same && are_close(whole[i], part[i], std::abs(part[i]));
    }
    sum = sum && are_close(whole[i], total, size);
    const auto replicas = static_cast<double>(many.size());
    mean = mean && are_close(whole[i], total / replicas, size / replicas);
  }
  if (whole.empty()) return Relation::kUnknown;
  if (same) return Relation::kSame;
  if (sum) return Relation::kSum;
  return mean ? Relation::kMean : Relation::kNone;
}

// kNone for one value of a list counts for the list.
Relation relation_of(const TraceStep& one, const OfReplicas& many, Values list) {
  Relation all = Relation::kUnknown;
  for (std::size_t i = 0; i < (one.*list).size(); ++i) {
    std::vector<const TraceValue*> values;
    for (const auto& [replica, step] : many) {
      if (i >= (step->*list).size()) return Relation::kUnknown;
      values.push_back(&(step->*list)[i]);
    }
    all = std::max(all, relation_of((one.*list)[i], values));
  }
  return all;
}

class Search {
 public:
  Search(const Trace& one, const Trace& many)
      : one_(one),
        many_(many),
        flow_of_one_(one),
        flow_(many),
        works_of_one_(one, flow_of_one_),
        works_(many, flow_) {}

  std::optional<PartingOperation> from(const TraceStep& of_one, const TraceStep& result) {
    for (const TraceStep& step : many_.steps) {
      if (step.kind == StepKind::kArrive) arrivals_[merge_of(step)].push_back(&step);
    }
    add_causes(result);
    std::optional<OperationKey> since;  // The sum, or the mean, is the value of the one replica.
    std::optional<OperationKey> left_out;
    Relation before = Relation::kSame;
    for (const OperationKey& key : works_.order()) {
      if (!causes_.contains(key) || works_of_one_.of(key).size() != 1) continue;
      const TraceStep& step = *works_of_one_.of(key).begin()->second;
      const OfReplicas many = works_.of(key);
      const Relation now = relation_of(step, many, &TraceStep::writes);
      const bool is_sum = now == Relation::kSum || now == Relation::kMean;
      const bool is_collective = step.kind == StepKind::kCollective;
      if (now == Relation::kNone && many.size() < works_.replicas().size()) {
        if (!left_out.has_value()) left_out = key;  // Right, if the other replicas have no data.
        continue;
      }
      if (now == Relation::kNone || (is_collective && is_sum)) {
        return parting(is_collective ? left_out.value_or(key) : key, since);
      }
      if (now != before) since = key;
      before = now;
    }
    if (left_out.has_value()) return parting(*left_out, since);
    if (result.kind != StepKind::kResume) return std::nullopt;
    return parting_merge(of_one, result, since);
  }

 private:
  // The operations before a step.
  void add_causes(const TraceStep& result) {
    std::vector<const TraceStep*> open{&result};
    std::set<const TraceStep*> seen;
    const auto add = [&open](const TraceStep* step) {
      if (step != nullptr) open.push_back(step);
    };
    while (!open.empty()) {
      const TraceStep& step = *open.back();
      open.pop_back();
      if (!seen.insert(&step).second) continue;
      if (works_.has(step)) causes_.insert(works_.key_of(step));
      if (step.kind == StepKind::kCollective && works_.has(step)) {
        for (const auto& [replica, part] : works_.of(works_.key_of(step))) add(part);
      }
      if (step.kind == StepKind::kResume) {
        for (const TraceStep* const arrival : arrivals_[merge_of(step)]) add(arrival);
      }
      for (const auto list : {&TraceStep::brings, &TraceStep::gets, &TraceStep::reads}) {
        for (const TraceValue& value : step.*list) add(flow_.producer_of(value.buffer, step));
      }
      if (is_work(step)) continue;
      for (const TraceValue& value : step.writes) add(flow_.producer_of(value.buffer, step));
    }
  }

  PartingOperation parting(const OperationKey& key,
                           const std::optional<OperationKey>& since) const {
    const TraceStep& step = *works_of_one_.of(key).begin()->second;
    const OfReplicas many = works_.of(key);
    PartingOperation parting{.one = &step};
    for (const auto& [replica, other] : many) {
      if (relation_of(step, {{replica, other}}, &TraceStep::writes) != Relation::kSame) {
        parting.many.push_back(other);
      }
    }
    parting.reason = step.kind == StepKind::kCollective
                         ? reason_of_merge(relation_of(step, many, &TraceStep::reads), since)
                         : "the values of the replicas do not fit the value of the one replica: no "
                           "parts, sum or mean";
    std::set<std::string> without;
    for (const auto& [replica, other] : works_.replicas()) {
      if (!many.contains(replica)) without.insert(replica_words(many_, many_.agent_of(*other)));
    }
    if (!without.empty()) parting.reason += "; without " + replicas_words(without);
    return parting;
  }

  // A merge of values on the host.
  PartingOperation parting_merge(const TraceStep& of_one, const TraceStep& result,
                                 const std::optional<OperationKey>& since) const {
    const OfReplicas brought_by_one = steps_of(one_, StepKind::kArrive, of_one);
    Relation brought = Relation::kUnknown;
    if (brought_by_one.size() == 1) {
      brought = relation_of(*brought_by_one.begin()->second,
                            steps_of(many_, StepKind::kArrive, result), &TraceStep::brings);
    }
    PartingOperation parting{.one = &of_one, .reason = reason_of_merge(brought, since)};
    for (const auto& [replica, step] : steps_of(many_, StepKind::kResume, result)) {
      parting.many.push_back(step);
    }
    return parting;
  }

  // The steps of replicas at the merge of a step.
  static OfReplicas steps_of(const Trace& trace, StepKind kind, const TraceStep& at) {
    OfReplicas steps;
    for (const TraceStep& step : trace.steps) {
      const bool is_there = step.kind == kind && merge_of(step) == merge_of(at);
      if (is_there) steps[{trace.agent_of(step).host, trace.agent_of(step).index}] = &step;
    }
    return steps;
  }

  static std::string reason_of_merge(Relation brought, const std::optional<OperationKey>& since) {
    if (brought == Relation::kSame) return "each replica brings the value of the one replica";
    if (brought == Relation::kNone) {
      return "the values that the replicas bring do not fit the value of the one replica";
    }
    if (brought != Relation::kSum && brought != Relation::kMean) return "";
    const std::string text =
        fmt::format("the {} of what the replicas bring is the value of the one replica",
                    brought == Relation::kSum ? "sum" : "mean");
    if (!since.has_value()) return text;
    const auto& [name, line, number] = *since;
    return fmt::format("{}, since {} at {}", text, name, short_line(line));
  }

  const Trace& one_;
  const Trace& many_;
  DataFlow flow_of_one_;
  DataFlow flow_;
  Works works_of_one_;
  Works works_;
  std::map<MergeId, std::vector<const TraceStep*>> arrivals_;
  std::set<OperationKey> causes_;  // Operations before the result.
};

}  // namespace

std::optional<PartingOperation> parting_operation(const Trace& one, const Trace& many,
                                                  const TraceStep& of_one,
                                                  const TraceStep& result) {
  return Search(one, many).from(of_one, result);
}

}  // namespace belfry::tool
