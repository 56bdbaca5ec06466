// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim {

/// Values by number. The numbers are small, and few of them are in use. A reference to a value
/// lives until the next value is made.
template <class Value>
class NumberedValues {
 public:
  /// The value of `number`, which is made at the first look. Throws: std::bad_alloc.
  Value& operator[](std::size_t number) {
    Value* const known = find(number);
    return known != nullptr ? *known : make(number);
  }
  /// Null if there is no such value.
  Value* find(std::size_t number) {
    const std::uint32_t place = number < places_.size() ? places_[number] : 0;
    return place == 0 ? nullptr : &values_[place - 1];
  }
  const Value* find(std::size_t number) const {
    return const_cast<NumberedValues*>(this)->find(number);
  }
  /// The values in the order of their making, and their numbers.
  const std::vector<Value>& values() const { return values_; }
  const std::vector<std::size_t>& numbers() const { return numbers_; }

 private:
  // Apart, for most looks make nothing.
  [[gnu::noinline]] Value& make(std::size_t number) {
    if (number >= places_.size()) places_.resize(number + 1);
    values_.emplace_back();
    numbers_.push_back(number);
    places_[number] = static_cast<std::uint32_t>(values_.size());
    return values_.back();
  }

  std::vector<std::uint32_t> places_;  // By number: from 1; 0: there is no value.
  std::vector<Value> values_;
  std::vector<std::size_t> numbers_;
};

}  // namespace belfry::sim
