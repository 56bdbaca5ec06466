// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/outcome_text.h"

#include <algorithm>
#include <cstddef>

namespace belfry::sim {
namespace {

constexpr std::size_t kMost = 1000;  // Characters of a text that is not shortened,
constexpr std::size_t kPart = 200;   // of a shortened text,
constexpr std::size_t kBefore = 40;  // and of a part before a difference.

std::string part(const std::string& text, std::size_t begin) {
  const std::size_t end = std::min(text.size(), begin + kPart);
  return (begin == 0 ? "" : "... ") + text.substr(begin, end - begin) +
         (end == text.size() ? "" : " ...");
}

}  // namespace

std::string shortened(const std::string& text) {
  if (text.size() <= kMost) return text;
  return part(text, 0) + " (" + std::to_string(text.size()) + " characters)";
}

OutcomePair around_difference(const std::string& first, const std::string& second) {
  const auto [a, b] = std::ranges::mismatch(first, second);
  if (std::max(first.size(), second.size()) <= kMost || (a == first.end() && b == second.end())) {
    return {shortened(first), shortened(second)};
  }
  const auto place = static_cast<std::size_t>(a - first.begin());
  const std::size_t begin = place > kBefore ? place - kBefore : 0;
  return {part(first, begin), part(second, begin)};
}

}  // namespace belfry::sim
