// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/trace_step.h"

#include "belfry/backend/type_lists.h"
#include "belfry/detail/json.h"
#include "words/text_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace belfry::detail {
namespace {

constexpr std::size_t kFirst = 8;
// Readers of JSON keep whole numbers up to here.
constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;

std::string count_text(std::uint64_t value) {
  return value <= kLargest ? std::to_string(value) : fmt::format("\"{}\"", value);
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "\"nan\"";
    if (std::isinf(value)) return value < 0 ? "\"-inf\"" : "\"inf\"";
  } else if constexpr (std::is_signed_v<T>) {
    if (value < -static_cast<std::int64_t>(kLargest)) return fmt::format("\"{}\"", value);
    if (value > 0) return count_text(static_cast<std::uint64_t>(value));
  } else if constexpr (!std::is_same_v<T, bool>) {
    return count_text(value);
  }
  return fmt::format("{}", value);
}

}  // namespace

std::string traced_elements(DType dtype, const void* data, std::size_t count) {
  std::string text = "\"first\":[";
  kernels::visit_type(kernels::AllTypes{}, dtype, [&]<class T>(kernels::Tag<T>) {
    for (std::size_t i = 0; i < std::min(count, kFirst); ++i) {
      T element;
      std::memcpy(&element, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
      text += (i > 0 ? "," : "") + element_text(element::load(element));
    }
  });
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
