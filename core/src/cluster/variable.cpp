// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/variable.h"

#include "belfry/detail/options_text.h"
#include "belfry/error.h"

#include <limits>

namespace belfry::detail {

std::string Variable::text() const {
  constexpr std::size_t kMost = 200;
  if (!is_set()) return std::string(name) + " is not set";
  std::string text = std::string(name) + " holds " + quoted(value.substr(0, kMost));
  if (value.size() > kMost) text += " and " + std::to_string(value.size() - kMost) + " bytes more";
  return text;
}

int Variable::number(CallSite site) const {
  const std::optional<int> number = decimal_number(value);
  if (!number) {
    fail("expected decimal digits, of a number up to " +
             std::to_string(std::numeric_limits<int>::max()),
         "start the program with its launcher, or set all variables of the launcher", site);
  }
  return *number;
}

void Variable::fail(const std::string& what, const std::string& hint, CallSite site) const {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, text() + ": " + what, hint, site);
}

Variable variable_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return {.name = name, .value = found == environment.end() ? std::string_view() : found->second};
}

std::optional<int> decimal_number(std::string_view text) {
  std::int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
    if (number > std::numeric_limits<int>::max()) return std::nullopt;
  }
  if (text.empty()) return std::nullopt;
  return static_cast<int>(number);
}

}  // namespace belfry::detail
