// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/entry_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

namespace belfry::tool::hangs {
namespace {

enum class Compared : std::uint8_t { kInputs, kOutputs, kNothing };

bool has(const Entry& entry, std::string_view part) {
  return entry.kind.find(part) != std::string::npos;
}

// The tensors with equal sizes on all ranks. An all_to_all or an exchange may be uneven; a gather
// and a scatter have a list on the root alone; the lists of an all_gather tell the sizes of all
// ranks. Ranks bring values of any size to a gather_to, a scatter_from and a permute.
Compared compared(const Entry& entry) {
  for (const char* const verb : {"all_to_all", "alltoall", "coalesced", "exchange", "gather_to",
                                 "scatter_from", "permute"}) {
    if (has(entry, verb)) return Compared::kNothing;
  }
  if (entry.kind == "all_gather" || entry.kind == "allgather" || entry.kind == "scatter") {
    return Compared::kOutputs;
  }
  return Compared::kInputs;
}

std::vector<std::int64_t> counts(const Sizes& sizes) {
  std::vector<std::int64_t> counts;
  for (const std::vector<std::int64_t>& lengths : sizes) {
    counts.push_back(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{1},
                                     [](std::int64_t a, std::int64_t b) {
                                       std::int64_t product = 0;
                                       return __builtin_mul_overflow(a, b, &product) ? -1 : product;
                                     }));
  }
  return counts;
}

bool differ(const Sizes& a, const Sizes& b) { return a != b && counts(a) != counts(b); }

std::string shape_words(const Sizes& sizes) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), 3); ++i) {
    text += text.empty() ? "" : ", ";
    text += sizes[i].empty() ? "1" : fmt::format("{}", fmt::join(sizes[i], "x"));
  }
  return sizes.size() > 3 ? fmt::format("{} and {} more", text, sizes.size() - 3) : text;
}

}  // namespace

std::optional<Difference> difference(const Entry& a, const Entry& b) {
  if (a.kind != b.kind) return Difference::kKind;
  const Compared what = compared(a);
  if (what == Compared::kInputs) {
    if (differ(a.input_sizes, b.input_sizes)) return Difference::kSize;
    if (a.input_types != b.input_types) return Difference::kType;
  }
  if (what == Compared::kOutputs) {
    if (differ(a.output_sizes, b.output_sizes)) return Difference::kSize;
    if (a.output_types != b.output_types) return Difference::kType;
  }
  if (!a.op.empty() && !b.op.empty() && a.op != b.op) return Difference::kOperator;
  if (a.root.has_value() && b.root.has_value() && a.root != b.root) return Difference::kRoot;
  return std::nullopt;
}

std::string to_string(Difference difference) {
  switch (difference) {
    case Difference::kKind:
      return "kind";
    case Difference::kSize:
      return "size";
    case Difference::kType:
      return "type";
    case Difference::kOperator:
      return "operator";
    case Difference::kRoot:
      return "root";
  }
  return {};
}

bool waits_for_all(const Entry& entry) {
  return !entry.p2p && (has(entry, "all") || has(entry, "barrier") || has(entry, "reduce_scatter"));
}

std::string words(const Entry& entry) {
  std::string text = entry.kind;
  if (!entry.op.empty()) text += " (" + entry.op + ")";
  if (entry.root.has_value()) text += fmt::format(" from or to member {}", *entry.root);
  const bool outputs = compared(entry) == Compared::kOutputs;
  const std::string shape = shape_words(outputs ? entry.output_sizes : entry.input_sizes);
  const std::vector<std::string>& types = outputs ? entry.output_types : entry.input_types;
  if (!shape.empty()) text += " of " + shape;
  if (!types.empty()) text += " " + types.front();
  if (!entry.variable.empty()) text += " for " + entry.variable;
  if (!entry.line.empty()) text += " at " + entry.line;
  return text;
}

std::string words(const std::vector<int>& ranks) {
  std::vector<std::string> spans;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last - i < 2) last = i;
    spans.push_back(last == i ? std::to_string(ranks[i])
                              : fmt::format("{} to {}", ranks[i], ranks[last]));
    i = last + 1;
  }
  if (ranks.size() == 1) return "rank " + spans.front();
  std::string text = "ranks ";
  for (std::size_t i = 0; i < spans.size(); ++i) {
    text += (i == 0 ? "" : (i + 1 == spans.size() ? " and " : ", ")) + spans[i];
  }
  return text;
}

}  // namespace belfry::tool::hangs
