// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::detail {

/// A value of JSON with all parts.
struct JsonValue {
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string name{};              ///< Of a member.
  std::string text{};              ///< Of a string; numbers and booleans as in the source.
  std::vector<JsonValue> parts{};  ///< Members or elements, in the order of the source.

  /// The first member of the name; null without it.
  const JsonValue* member(std::string_view member_name) const;
  bool has(std::string_view member_name) const { return member(member_name) != nullptr; }
  /// The first member of the name, or an empty value.
  const JsonValue& at(std::string_view member_name) const;
  const std::string& text_of(std::string_view member_name) const { return at(member_name).text; }
  /// A whole number from 0 to 2^63 - 1, as a number or as a string of digits.
  std::optional<std::int64_t> whole_number() const;
  /// The whole number of a member, or 0.
  std::uint64_t number_of(std::string_view member_name) const {
    return static_cast<std::uint64_t>(at(member_name).whole_number().value_or(0));
  }
};

/// Reads a text of a single value. Throws: JsonError, also for a nest of more than 32 levels.
JsonValue parse_json(std::string_view text);

}  // namespace belfry::detail
