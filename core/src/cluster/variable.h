// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cluster_environment.h"

#include <optional>
#include <string>
#include <string_view>

namespace belfry::detail {

/// A variable of an environment, for reading and for messages.
struct Variable {
  std::string_view name;   ///< For example `WORLD_SIZE`.
  std::string_view value;  ///< Empty: not set (SEM-201).

  bool is_set() const { return !value.empty(); }
  /// `WORLD_SIZE holds "4"`; `WORLD_SIZE is not set`. Long values are cut.
  std::string text() const;
  /// The value as a number. Throws: InvalidArgumentError (kInvalidArgument) unless the value
  /// consists of decimal digits and the number is an `int`.
  int number(CallSite site) const;
  /// Throws InvalidArgumentError (kInvalidArgument): the text of the variable, then `what`.
  [[noreturn]] void fail(const std::string& what, const std::string& hint, CallSite site) const;
};

/// The variable `name` of `environment`, as a view into both.
Variable variable_of(const Environment& environment, std::string_view name);

/// The number of `text`; none unless `text` consists of decimal digits and the number is an `int`.
std::optional<int> decimal_number(std::string_view text);

}  // namespace belfry::detail
