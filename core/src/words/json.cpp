// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The one file that includes the JSON library: each inclusion compiles for three seconds.
#include "belfry/detail/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace belfry::detail {
namespace {

using Json = nlohmann::json;

// Hands the pieces of the library on.
class Pieces {
 public:
  explicit Pieces(JsonPieces& pieces) : pieces_(pieces) {}

  bool start_object(std::size_t /*elements*/) { return pieces_.start_object(), true; }
  bool key(std::string& name) { return pieces_.key(std::move(name)), true; }
  bool end_object() { return pieces_.end_object(), true; }
  bool start_array(std::size_t /*elements*/) { return pieces_.start_array(), true; }
  bool end_array() { return pieces_.end_array(), true; }
  bool string(std::string& text) { return pieces_.string(std::move(text)), true; }
  bool number_unsigned(std::uint64_t number) { return pieces_.number(number), true; }
  // A number below 0, or -0.
  bool number_integer(std::int64_t number) {
    return pieces_.other(number == 0 ? "-0" : std::to_string(number)), true;
  }
  bool number_float(double /*number*/, const std::string& text) {
    return pieces_.other(text), true;
  }
  bool boolean(bool value) { return pieces_.other(value ? "true" : "false"), true; }
  bool null() { return pieces_.other("null"), true; }
  bool binary(Json::binary_t& /*bytes*/) { return false; }  // Not in texts.

  // The library's text begins with an id and a line, and may quote a long piece.
  bool parse_error(std::size_t read, const std::string& /*last*/,
                   const nlohmann::detail::exception& error) {
    std::string what = error.what();
    what.erase(0, std::min(what.find("syntax error"), what.size()));
    what.erase(std::min(what.find("; last read"), what.size()));
    throw JsonError(read, what);
  }

 private:
  JsonPieces& pieces_;
};

}  // namespace

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::string> json_string_of_utf8(std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    return std::nullopt;
  }
}

void read_json(std::string_view text, bool whole, JsonPieces& pieces) {
  Pieces handed_on(pieces);
  Json::sax_parse(text.begin(), text.end(), &handed_on, Json::input_format_t::json, whole);
}

}  // namespace belfry::detail
