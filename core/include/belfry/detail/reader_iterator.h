// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace belfry::detail {

/// Iterates once over the values of a reader: a function that returns the next value, or nothing at
/// the end. Not copyable, because a reader has a single position.
template <class T>
class ReaderIterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  explicit ReaderIterator(std::function<std::optional<T>()> reader) : reader_(std::move(reader)) {
    current_ = reader_();
  }
  ReaderIterator(ReaderIterator&&) noexcept = default;
  ReaderIterator& operator=(ReaderIterator&&) noexcept = default;

  const T& operator*() const { return *current_; }
  const T* operator->() const { return &*current_; }
  ReaderIterator& operator++() {
    current_ = reader_();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const ReaderIterator& iterator, std::default_sentinel_t) {
    return !iterator.current_.has_value();
  }

 private:
  std::function<std::optional<T>()> reader_;
  std::optional<T> current_;
};

}  // namespace belfry::detail
