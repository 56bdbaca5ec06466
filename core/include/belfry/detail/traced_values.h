// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/run_view.h"
#include "belfry/detail/trace_writer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Tells a trace of the elements of tensors.
class DeviceValues {
 public:
  virtual ~DeviceValues() = default;
  /// Sets `buffer`, and `elements` if they are known.
  virtual void show(const BufferView& view, TracedValue& value) = 0;
  /// The elements were not known: writes them when they are, as value `index` of `list`.
  virtual void show_later(const BufferView& view, std::uint64_t step, std::string_view list,
                          std::size_t index) = 0;
};

/// A list of values in a step, leaf by leaf. The elements of tensors may follow the step.
class TracedValues final : public ValueVisitor {
 public:
  /// `device`: null if no elements of tensors are known.
  TracedValues(TraceWriter& writer, DeviceValues* device, const char* list)
      : writer_(writer), device_(device), list_(list) {}

  void value(const ShownValue& shown) override;
  void verb(std::string_view name) override { verb_ = name; }
  void op(std::string_view name) override { op_ = name; }

  const std::string& verb() const { return verb_; }
  std::vector<TracedValue>& values() { return values_; }
  void add_to(TraceStep& step) const;
  /// After the step: the elements of tensors, when they are known.
  void show_later(std::uint64_t step) const;
  /// Gives the elements to the values of an earlier step, if they have the same types and shapes.
  void give_to(std::uint64_t step, const std::vector<TracedValue>& values) const;

 private:
  TraceWriter& writer_;
  DeviceValues* device_;
  const char* list_;
  std::string verb_;
  std::string op_;
  std::vector<TracedValue> values_;
  std::vector<std::pair<BufferView, std::size_t>> later_;  // With the place in the list.
};

}  // namespace belfry::detail
