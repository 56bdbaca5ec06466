// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dtype.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::detail {

/// The elements of a value as the members `first` and `digest` of a trace: the first 8 elements,
/// and a digest of all bytes.
std::string traced_elements(DType dtype, const void* data, std::size_t count);

/// A value of a trace.
struct TracedValue {
  std::string type{};                   ///< `float32`, or the type of the program.
  std::vector<std::int64_t> extents{};  ///< Empty: a scalar.
  std::uint64_t count = 1;              ///< The number of elements.
  std::string elements{};               ///< As traced_elements; empty if not known.
  std::optional<std::uint64_t> buffer{};
  std::string leaf{};  ///< The path in the nest.
  std::string text{};  ///< Of a type with ElementTraits.
};

/// The value as an object of JSON.
std::string traced_json(const TracedValue& value);

/// The members of a step of a trace, without the number of the step.
class TraceStep {
 public:
  TraceStep(std::string_view kind, std::string_view agent);

  TraceStep& number(std::string_view name, std::uint64_t number);
  TraceStep& text(std::string_view name, std::string_view text);
  /// `json` is a value of JSON.
  TraceStep& json(std::string_view name, std::string_view json);
  /// The user's call; nothing for an empty site.
  TraceStep& line(const CallSite& site);
  /// Nothing for an empty list.
  TraceStep& values(std::string_view name, const std::vector<TracedValue>& values);
  /// The steps that this step had to wait for; nothing for an empty list.
  TraceStep& after(std::span<const std::uint64_t> steps);

  const std::string& members() const { return members_; }

 private:
  std::string members_;
};

}  // namespace belfry::detail
