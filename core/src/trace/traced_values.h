// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/device_values.h"
#include "belfry/detail/run_view.h"
#include "belfry/detail/trace_writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::detail {

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
  const std::vector<TracedValue>& values() const { return values_; }
  /// Forgets the contents: a step is about to change them.
  void forget_contents();
  void add_to(TraceStep& step) const;
  /// After the step: the elements of tensors, when they are known.
  void show_later(std::uint64_t step) const;
  /// Gives the contents to the values of an earlier step, if they have the same types and shapes.
  void give_to(std::uint64_t step, const std::vector<TracedValue>& values) const;

 private:
  struct Later {
    BufferView view;
    std::size_t index;
  };
  TraceWriter& writer_;
  DeviceValues* device_;
  const char* list_;
  std::string verb_;
  std::string op_;
  std::vector<TracedValue> values_;
  std::vector<Later> later_;
};

}  // namespace belfry::detail
