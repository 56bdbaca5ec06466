// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/verb_words.h"

#include "belfry/detail/json_value.h"
#include "belfry/detail/reductions/reduce_op.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace belfry::tool {
namespace {

struct VerbRow {
  std::string_view name;
  StepRule rule;
  // What an exchange takes of `op`, `axis`, `root`, `sizes` and `pairs`.
  std::string_view takes{};
};

constexpr VerbRow kVerbs[] = {
    {"all_gather", {"SEM-121", "each replica gets the values of all, joined in replica order"}},
    {"reduce_scatter",
     {"SEM-261",
      "each replica gets its part of the reduction; the parts, joined, have the bits of "
      "all_reduce"},
     "op axis sizes"},
    {"all_to_all",
     {"SEM-262", "part i goes to the i-th replica, and element j came from the j-th"},
     "nothing"},
    {"broadcast", {"SEM-263", "every replica gets the value of the root"}, "root"},
    {"permute",
     {"SEM-264",
      "the value of the first replica of a pair goes to the second; a replica to which nobody "
      "sends "
      "gets nothing"},
     "pairs"},
    {"scatter_from",
     {"SEM-265", "each replica gets its part of the value of the root"},
     "root sizes"},
    {"gather_to",
     {"SEM-266", "the root gets the values of all, joined; the others get nothing"},
     "axis root"},
    {"exchange", {"SEM-260", "a value goes from its sender to its receivers, and nowhere else"}},
};

constexpr StepRule kExtremes = {"SEM-252",
                                "max is the largest of the parts and min the smallest, the same in "
                                "every order; with a NaN among "
                                "the parts, NaN"};
constexpr VerbRow kOperators[] = {
    {"max", kExtremes},
    {"min", kExtremes},
    {"prod",
     {"SEM-253",
      "prod is the product of the parts; its bits depend on the order, as those of a sum"}},
};

const VerbRow* row_of(std::string_view step_name) {
  // Behind the name stand a tag or a group.
  const std::string_view name = step_name.substr(0, step_name.find(' '));
  const auto* const found = std::ranges::find(kVerbs, name, &VerbRow::name);
  return found == std::end(kVerbs) ? nullptr : found;
}

std::string operator_words(const std::string& number) {
  const JsonValue value{.kind = JsonValue::Kind::kNumber, .text = number};
  const auto op = value.whole_number();
  return op && *op >= 0 && *op <= 4 ? to_string(static_cast<ReduceOp>(*op)) : "operator " + number;
}

// `0 to 1, 1 to 2` of 0, 1, 1, 2.
std::string pairs_of(const std::vector<std::string>& ends) {
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2)
    pairs.push_back(ends[i] + " to " + ends[i + 1]);
  return fmt::format("{}", fmt::join(pairs, ", "));
}

std::string words_of(std::string_view member, const TraceValue& value) {
  if (value.first.empty()) return "";
  if (member == "op") return operator_words(value.first.front());
  if (member == "pairs") return pairs_of(value.first);
  return std::string(member) + ' ' +
         to_string(TraceValue{.first = value.first, .count = value.count});
}

}  // namespace

StepRule rule_of_verb(const TraceStep& step) {
  const auto* const op = std::ranges::find(kOperators, step.op, &VerbRow::name);
  if (op != std::end(kOperators) && step.name.starts_with("all_reduce")) return op->rule;
  const VerbRow* const row = row_of(step.name);
  return row == nullptr ? StepRule() : row->rule;
}

ExchangeWords exchange_words(const TraceStep& arrival) {
  constexpr std::string_view kMembers[] = {"op", "axis", "root", "sizes", "pairs"};
  constexpr std::string_view kAsked = "[1][";
  const VerbRow* const row = row_of(arrival.name);
  ExchangeWords words;
  if (row == nullptr || row->takes.empty()) return {.values = arrival.brings};
  for (TraceValue value : arrival.brings) {
    if (value.leaf.starts_with("[0]")) {
      value.leaf.erase(0, 3);
      words.values.push_back(std::move(value));
      continue;
    }
    const std::size_t member = value.leaf.size() > kAsked.size() && value.leaf.starts_with(kAsked)
                                   ? static_cast<std::size_t>(value.leaf[kAsked.size()] - '0')
                                   : std::size(kMembers);
    if (member >= std::size(kMembers)) return {.values = arrival.brings};
    if (row->takes.find(kMembers[member]) == std::string_view::npos) continue;
    const std::string asked = words_of(kMembers[member], value);
    if (!asked.empty()) words.asked += (words.asked.empty() ? "" : ", ") + asked;
  }
  return words;
}

}  // namespace belfry::tool
