// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_step.h"

#include "belfry/detail/json.h"
#include "words/text_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace belfry::detail {
namespace {

constexpr std::size_t kFirst = 8;
// Readers of JSON keep whole numbers up to here.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;

template <class T>
T element(const void* data, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
std::string float_text(T value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value < 0 ? "\"-inf\"" : "\"inf\"";
  return fmt::format("{}", value);
}

std::string whole_text(std::int64_t value) {
  const bool is_small =
      value >= -static_cast<std::int64_t>(kLargest) && value <= static_cast<std::int64_t>(kLargest);
  return is_small ? std::to_string(value) : fmt::format("\"{}\"", value);
}

std::string count_text(std::uint64_t value) {
  return value <= kLargest ? std::to_string(value) : fmt::format("\"{}\"", value);
}

std::string element_text(DType dtype, const void* data, std::size_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return float_text(element<float>(data, i));
    case DType::kFloat64:
      return float_text(element<double>(data, i));
    case DType::kFloat16:
      return float_text(static_cast<float>(element<Float16>(data, i)));
    case DType::kBFloat16:
      return float_text(static_cast<float>(element<BFloat16>(data, i)));
    case DType::kInt8:
      return whole_text(element<std::int8_t>(data, i));
    case DType::kInt16:
      return whole_text(element<std::int16_t>(data, i));
    case DType::kInt32:
      return whole_text(element<std::int32_t>(data, i));
    case DType::kInt64:
      return whole_text(element<std::int64_t>(data, i));
    case DType::kUInt8:
      return count_text(element<std::uint8_t>(data, i));
    case DType::kUInt16:
      return count_text(element<std::uint16_t>(data, i));
    case DType::kUInt32:
      return count_text(element<std::uint32_t>(data, i));
    case DType::kUInt64:
      return count_text(element<std::uint64_t>(data, i));
    case DType::kBool:
      return element<std::uint8_t>(data, i) != 0 ? "true" : "false";
  }
  return "null";
}

}  // namespace

std::string traced_elements(DType dtype, const void* data, std::size_t count) {
  std::string text = "\"first\":[";
  for (std::size_t i = 0; i < std::min(count, kFirst); ++i) {
    if (i > 0) text += ',';
    text += element_text(dtype, data, i);
  }
  const std::string_view bytes(static_cast<const char*>(data), count * size_of(dtype));
  return text + fmt::format("],\"digest\":\"{:016x}\"", text_digest(bytes));
}

std::string traced_json(const TracedValue& value) {
  std::string text = "{\"type\":" + json_string(value.type) + ",\"shape\":[";
  for (std::size_t i = 0; i < value.extents.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(value.extents[i]);
  }
  text += "],\"count\":" + std::to_string(value.count);
  if (!value.elements.empty()) text += "," + value.elements;
  if (value.buffer) text += ",\"buffer\":" + count_text(*value.buffer);
  if (!value.leaf.empty()) text += ",\"leaf\":" + json_string(value.leaf);
  if (!value.text.empty()) text += ",\"text\":" + json_string(value.text);
  return text + "}";
}

TraceStep::TraceStep(std::string_view kind, std::string_view agent)
    : members_(fmt::format("\"kind\":\"{}\",\"agent\":\"{}\"", kind, agent)) {}

TraceStep& TraceStep::number(std::string_view name, std::uint64_t number) {
  return json(name, count_text(number));
}

TraceStep& TraceStep::text(std::string_view name, std::string_view text) {
  return json(name, json_string(text));
}

TraceStep& TraceStep::json(std::string_view name, std::string_view json) {
  members_ += fmt::format(",\"{}\":{}", name, json);
  return *this;
}

TraceStep& TraceStep::line(const CallSite& site) {
  return site.empty() ? *this : text("line", fmt::format("{}:{}", site.file, site.line));
}

TraceStep& TraceStep::values(std::string_view name, const std::vector<TracedValue>& values) {
  if (values.empty()) return *this;
  std::string list = "[";
  for (const TracedValue& value : values) list += (list.size() > 1 ? "," : "") + traced_json(value);
  return json(name, list + "]");
}

TraceStep& TraceStep::after(std::span<const std::uint64_t> steps) {
  if (steps.empty()) return *this;
  std::vector<std::uint64_t> sorted(steps.begin(), steps.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::unique(sorted);
  sorted.erase(twice.begin(), twice.end());
  return json("after", fmt::format("[{}]", fmt::join(sorted, ",")));
}

}  // namespace belfry::detail
