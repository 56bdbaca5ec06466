// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/json.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::sim {

/// A value of JSON. Numbers, `true`, `false` and `null` are texts.
struct JsonValue {
  std::string text{};
  std::vector<JsonValue> items{};
  std::map<std::string, JsonValue, std::less<>> members{};

  bool has(std::string_view name) const { return members.contains(name); }
  /// The member, or an empty value.
  const JsonValue& at(std::string_view name) const {
    static const JsonValue nothing;
    const auto found = members.find(name);
    return found == members.end() ? nothing : found->second;
  }
  const std::string& text_of(std::string_view name) const { return at(name).text; }
  /// The number, or 0.
  std::uint64_t number_of(std::string_view name) const {
    std::uint64_t number = 0;
    for (const char c : text_of(name)) {
      if (c < '0' || c > '9') return 0;
      number = 10 * number + static_cast<std::uint64_t>(c - '0');
    }
    return number;
  }
};

/// Builds the value of a text.
class JsonBuilder final : public belfry::detail::JsonPieces {
 public:
  /// Throws: belfry::detail::JsonError.
  static JsonValue read(std::string_view text) {
    JsonBuilder builder;
    belfry::detail::read_json(text, true, builder);
    return std::move(builder.root_);
  }

  void start_object() override { open_.push_back(&place()); }
  void key(std::string name) override { key_ = std::move(name); }
  void end_object() override { open_.pop_back(); }
  void start_array() override {
    open_.push_back(&place());
    lists_.push_back(open_.back());
  }
  void end_array() override {
    open_.pop_back();
    lists_.pop_back();
  }
  void string(std::string text) override { place().text = std::move(text); }
  void number(std::uint64_t number) override { place().text = std::to_string(number); }
  void other(const std::string& text) override { place().text = text; }

 private:
  // The place of the next value. Values move only while their list grows, and none is open then.
  JsonValue& place() {
    if (open_.empty()) return root_;
    JsonValue& in = *open_.back();
    const bool is_list = !lists_.empty() && lists_.back() == &in;
    return is_list ? in.items.emplace_back() : in.members[key_];
  }

  JsonValue root_;
  std::string key_;
  std::vector<JsonValue*> open_;
  std::vector<JsonValue*> lists_;  // Those of open_ that are arrays.
};

}  // namespace belfry::sim
