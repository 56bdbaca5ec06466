// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/traced_values.h"

#include <algorithm>

namespace belfry::detail {

void TracedValues::value(const ShownValue& shown) {
  const bool has_elements = writer_.options().values;
  TracedValue value;
  value.type = shown.dtype != nullptr ? to_string(*shown.dtype) : std::string(shown.type);
  value.extents.assign(shown.extents.begin(), shown.extents.end());
  value.count = shown.count;
  value.leaf = shown.leaf;
  if (has_elements) value.text = shown.text;
  if (shown.data != nullptr && shown.dtype != nullptr && has_elements) {
    value.elements = traced_elements(*shown.dtype, shown.data, shown.count);
  }
  if (shown.view != nullptr && device_ != nullptr) {
    device_->show(*shown.view, value);
    if (value.elements.empty() && has_elements) later_.push_back({*shown.view, values_.size()});
  }
  values_.push_back(std::move(value));
}

void TracedValues::add_to(TraceStep& step) const {
  if (!op_.empty()) step.text("op", op_);
  step.values(list_, values_);
}

void TracedValues::show_later(std::uint64_t step) const {
  for (const auto& [view, index] : later_) device_->show_later(view, step, list_, index);
}

void TracedValues::give_to(std::uint64_t step, const std::vector<TracedValue>& values) const {
  const auto is_alike = [](const TracedValue& one, const TracedValue& other) {
    return one.type == other.type && one.extents == other.extents && one.leaf == other.leaf;
  };
  if (!std::ranges::equal(values, values_, is_alike)) return;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].elements.empty()) writer_.value_of(step, list_, i, values_[i].elements);
  }
  show_later(step);
}

}  // namespace belfry::detail
