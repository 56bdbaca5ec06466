// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batches.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/readers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Takes rows from a sequence of batches as if they were one. `with_empties`: `none` is called.
template <class B>
class RowReader {
 public:
  RowReader(ReaderOf<B> reader, bool with_empties, CallSite site)
      : reader_(std::move(reader)), with_empties_(with_empties), site_(site) {}

  /// Whether there is another row; reads on for it when necessary.
  bool more() {
    while (!ended_ && offset_ == rows_) {
      std::optional<B> next = reader_();
      if (!next) {
        ended_ = true;
        break;
      }
      rows_ = rows_of(*next, site_);
      offset_ = 0;
      current_ = std::move(next);
    }
    return !ended_;
  }
  /// The next rows: as many as are asked for, or all that are left. `more()` was true.
  B take(std::int64_t count) {
    B batch = part(count);
    std::int64_t left = count - taken_;
    while (left > 0 && more()) {
      B following = part(left);
      left -= taken_;
      append_rows(batch, following, site_);
    }
    taken_ = count - left;
    return batch;
  }
  /// No rows, without reading on; nothing when not even the first batch is there.
  std::optional<B> none() {
    if (!current_ && !more()) return std::nullopt;
    return move_rows(*current_, 0, 0);
  }
  /// Rows of the last `take`.
  std::int64_t taken() const { return taken_; }

 private:
  B part(std::int64_t count) {
    taken_ = std::min(count, rows_ - offset_);
    offset_ += taken_;
    if (taken_ == rows_ && !with_empties_) return std::move(*current_);
    return move_rows(*current_, offset_ - taken_, taken_);
  }

  ReaderOf<B> reader_;
  bool with_empties_;
  CallSite site_;
  std::optional<B> current_;
  std::int64_t rows_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

/// Batches of given sizes, used over and over, up to the first that falls short (SEM-93).
template <class B>
class RebatchReader {
 public:
  RebatchReader(ReaderOf<B> reader, std::vector<std::int64_t> sizes, bool drop_remainder,
                CallSite site)
      : rows_(std::move(reader), std::count(sizes.begin(), sizes.end(), 0) != 0, site),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder) {}
  std::optional<B> operator()() {
    if (ended_) return std::nullopt;
    const std::int64_t size = sizes_[next_];
    next_ = (next_ + 1) % sizes_.size();
    if (size == 0) return rows_.none();
    if (!rows_.more()) return std::nullopt;
    B batch = rows_.take(size);
    ended_ = rows_.taken() < size;
    if (ended_ && drop_remainder_) return std::nullopt;
    return batch;
  }

 private:
  RowReader<B> rows_;
  std::vector<std::int64_t> sizes_;
  bool drop_remainder_;
  std::size_t next_ = 0;
  bool ended_ = false;
};

}  // namespace belfry::detail

/// The readers that leave elements out.
namespace belfry::detail {

template <class T, class F>
class FilterReader {
 public:
  FilterReader(ReaderOf<T> reader, F keep) : reader_(std::move(reader)), keep_(std::move(keep)) {}
  std::optional<T> operator()() {
    std::optional<T> next = reader_();
    while (next && !std::as_const(keep_)(std::as_const(*next))) next = reader_();
    return next;
  }

 private:
  ReaderOf<T> reader_;
  F keep_;
};

template <class T>
class TakeReader {
 public:
  TakeReader(ReaderOf<T> reader, std::int64_t count) : reader_(std::move(reader)), left_(count) {}
  std::optional<T> operator()() { return left_-- > 0 ? reader_() : std::nullopt; }

 private:
  ReaderOf<T> reader_;
  std::int64_t left_;
};

/// Leaves out `first` elements at the start, and `between` after each one that it gives.
template <class T>
class SkipReader {
 public:
  SkipReader(ReaderOf<T> reader, std::int64_t first, std::int64_t between)
      : reader_(std::move(reader)), skip_(first), between_(between) {}
  std::optional<T> operator()() {
    for (; skip_ > 0; --skip_) {
      if (!reader_()) return std::nullopt;
    }
    skip_ = between_;
    return reader_();
  }

 private:
  ReaderOf<T> reader_;
  std::int64_t skip_;
  std::int64_t between_;
};

/// Pairs, up to the end of the shorter reader.
template <class T, class U>
class ZipReader {
 public:
  ZipReader(ReaderOf<T> first, ReaderOf<U> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  std::optional<std::pair<T, U>> operator()() {
    std::optional<T> first = first_();
    if (!first) return std::nullopt;
    std::optional<U> second = second_();
    if (!second) return std::nullopt;
    return std::pair<T, U>(std::move(*first), std::move(*second));
  }

 private:
  ReaderOf<T> first_;
  ReaderOf<U> second_;
};

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
