// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/json.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::tool {

/// Writes an object of JSON without line breaks, with the members in the order of the calls.
class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value) {
    return raw(name, detail::json_string(value));
  }
  JsonObject& number(std::string_view name, std::int64_t value) {
    return raw(name, std::to_string(value));
  }
  JsonObject& flag(std::string_view name, bool value) {
    return raw(name, value ? "true" : "false");
  }
  JsonObject& texts(std::string_view name, const std::vector<std::string>& values) {
    std::vector<std::string> strings;
    for (const std::string& value : values) strings.push_back(detail::json_string(value));
    return list(name, strings);
  }
  /// `values` are JSON.
  JsonObject& list(std::string_view name, const std::vector<std::string>& values) {
    std::string text = "[";
    for (const std::string& value : values) text += (text.size() > 1 ? "," : "") + value;
    return raw(name, text + "]");
  }
  /// `value` is JSON.
  JsonObject& raw(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? "" : ",";
    text_ += detail::json_string(name);
    text_ += ':';
    text_ += value;
    return *this;
  }
  std::string str() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace belfry::tool
