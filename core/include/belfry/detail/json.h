// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace belfry::detail {

/// The text as a string of JSON, in quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
/// The same; none if the text is no UTF-8.
std::optional<std::string> json_string_of_utf8(std::string_view text);

/// The reason why a text is no JSON. The text is empty for a number that is too large.
struct JsonError : std::runtime_error {
  JsonError(std::size_t read_bytes, const std::string& what)
      : std::runtime_error(what), read(read_bytes) {}
  std::size_t read;  ///< The bytes up to the wrong one, which is the last.
};

/// Takes the pieces of a text of JSON, in the order of the text.
class JsonPieces {
 public:
  virtual ~JsonPieces() = default;
  virtual void start_object() = 0;
  /// The name of the next member.
  virtual void key(std::string name) = 0;
  virtual void end_object() = 0;
  virtual void start_array() = 0;
  virtual void end_array() = 0;
  virtual void string(std::string text) = 0;
  /// A whole number from 0 on.
  virtual void number(std::uint64_t number) = 0;
  /// Another value, as text: `null`, `true`, `false`, and numbers below 0, with a fraction, or too
  /// large for number().
  virtual void other(const std::string& text) = 0;
};

/// Reads the value at the begin of the text. `whole`: the text has nothing else, up to blanks.
/// Throws: JsonError; what `pieces` throws.
void read_json(std::string_view text, bool whole, JsonPieces& pieces);

}  // namespace belfry::detail
