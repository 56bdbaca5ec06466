// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/line_members.h"

#include "belfry/error.h"

#include <fmt/format.h>

namespace belfry::tool {

using Kind = JsonValue::Kind;

void LinePlace::fail_at(std::size_t column, const std::string& what) const {
  throw InvalidArgumentError(ErrorCode::kFileFormat,
                             fmt::format("{}:{}:{}: {}", file, number, column, what),
                             "a trace has an object of JSON in each line, as docs/trace.md tells");
}

void LinePlace::fail(std::string_view member, const std::string& what) const {
  const std::size_t place = text.find(fmt::format("\"{}\"", member));
  fail_at(place == std::string_view::npos ? 1 : place + 1, what);
}

const JsonValue* LineMembers::find(std::string_view name) const {
  const JsonValue* const value = object_.member(name);
  return value == nullptr || value->kind == Kind::kNull ? nullptr : value;
}

std::int64_t LineMembers::number(std::string_view name, std::int64_t absent) const {
  const JsonValue* const value = find(name);
  if (value == nullptr && absent != kRequired) return absent;
  const auto number = value == nullptr ? std::nullopt : value->whole_number();
  if (!number.has_value()) {
    place_.fail(name, fmt::format("expected \"{}\" with a whole number from 0 on", name));
  }
  return *number;
}

std::string LineMembers::text(std::string_view name) const {
  const JsonValue* const value = find(name);
  if (value == nullptr) return "";
  if (value->kind != Kind::kString)
    place_.fail(name, fmt::format("expected \"{}\" with a text", name));
  return value->text;
}

bool LineMembers::flag(std::string_view name) const {
  const JsonValue* const value = find(name);
  if (value == nullptr) return false;
  if (value->kind != Kind::kBool) {
    place_.fail(name, fmt::format("expected \"{}\" with true or false", name));
  }
  return value->text == "true";
}

const std::vector<JsonValue>& LineMembers::list(std::string_view name) const {
  static const std::vector<JsonValue> none;
  const JsonValue* const value = find(name);
  if (value != nullptr && value->kind != Kind::kArray) {
    place_.fail(name, fmt::format("expected \"{}\" with a list", name));
  }
  return value == nullptr ? none : value->parts;
}

std::vector<std::int64_t> LineMembers::numbers(std::string_view name) const {
  std::vector<std::int64_t> numbers;
  for (const JsonValue& part : list(name)) {
    const auto number = part.whole_number();
    if (!number.has_value()) {
      place_.fail(name, fmt::format("expected \"{}\" with whole numbers from 0 on", name));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> LineMembers::elements(std::string_view name) const {
  std::vector<std::string> elements;
  for (const JsonValue& part : list(name)) {
    if (part.kind != Kind::kNumber && part.kind != Kind::kString && part.kind != Kind::kBool) {
      place_.fail(name, fmt::format("expected \"{}\" with numbers or texts", name));
    }
    elements.push_back(part.text);
  }
  return elements;
}

std::vector<LineMembers> LineMembers::objects(std::string_view name) const {
  std::vector<LineMembers> objects;
  for (const JsonValue& part : list(name)) {
    if (part.kind != Kind::kObject) {
      place_.fail(name, fmt::format("expected \"{}\" with objects", name));
    }
    objects.emplace_back(part, place_);
  }
  return objects;
}

}  // namespace belfry::tool
