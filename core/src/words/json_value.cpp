// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/json_value.h"

#include "belfry/detail/json.h"

#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

namespace belfry::detail {
namespace {

constexpr std::size_t kDeepestValue = 32;

class ValueBuilder final : public JsonPieces {
 public:
  JsonValue take() { return std::move(root_); }

  void start_object() override { open(JsonValue::Kind::kObject); }
  void key(std::string name) override { name_ = std::move(name); }
  void end_object() override { open_.pop_back(); }
  void start_array() override { open(JsonValue::Kind::kArray); }
  void end_array() override { open_.pop_back(); }
  void string(std::string text) override { add(JsonValue::Kind::kString, std::move(text)); }
  void number(std::uint64_t number) override {
    add(JsonValue::Kind::kNumber, std::to_string(number));
  }
  void other(const std::string& text) override {
    const bool truth = text == "true" || text == "false";
    add(text == "null" ? JsonValue::Kind::kNull
                       : (truth ? JsonValue::Kind::kBool : JsonValue::Kind::kNumber),
        text);
  }

 private:
  JsonValue& add(JsonValue::Kind kind, std::string text = {}) {
    JsonValue value{.kind = kind, .name = std::exchange(name_, {}), .text = std::move(text)};
    if (open_.empty()) return root_ = std::move(value);
    return open_.back()->parts.emplace_back(std::move(value));
  }
  // The pointers stay: only the innermost open value grows.
  void open(JsonValue::Kind kind) {
    if (open_.size() == kDeepestValue) throw JsonError(0, "more than 32 values inside each other");
    open_.push_back(&add(kind));
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;  // The outermost first.
  std::string name_;              // Of the next member.
};

}  // namespace

const JsonValue* JsonValue::member(std::string_view member_name) const {
  if (kind != Kind::kObject) return nullptr;
  for (const JsonValue& part : parts) {
    if (part.name == member_name) return &part;
  }
  return nullptr;
}

const JsonValue& JsonValue::at(std::string_view member_name) const {
  static const JsonValue nothing;
  const JsonValue* const found = member(member_name);
  return found == nullptr ? nothing : *found;
}

std::optional<std::int64_t> JsonValue::whole_number() const {
  if (kind != Kind::kNumber && kind != Kind::kString) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

JsonValue parse_json(std::string_view text) {
  ValueBuilder builder;
  read_json(text, true, builder);
  return builder.take();
}

}  // namespace belfry::detail
