// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/readers.h"

#include <cstdint>
#include <optional>
#include <utility>

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

}  // namespace belfry::detail
