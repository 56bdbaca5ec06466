// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batches.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/function_call.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The readers of datasets: functions that give the next element, or nothing at the end.
namespace belfry::detail {

/// Throws: InvalidArgumentError (kInvalidArgument) if `value` is below `least`.
void require_at_least(std::int64_t least, std::int64_t value, const char* what, CallSite site);
void require_shard(std::int64_t count, std::int64_t index, CallSite site);
void require_sizes(const std::vector<std::int64_t>& sizes, CallSite site);
/// `3, 1, 1`.
std::string numbers_text(const std::vector<std::int64_t>& numbers);
[[noreturn]] void throw_endless(const char* what, CallSite site);

/// 0 to count - 1 in an order drawn from `seed` and `epoch`, each order equally likely.
std::vector<std::size_t> permutation(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

template <class T>
using ReaderOf = std::function<std::optional<T>()>;

/// The reader of each epoch.
template <class T>
using ReaderOfEpoch = std::function<ReaderOf<T>(std::uint64_t epoch)>;

/// The readers that `start()` gives.
template <class T, class F>
ReaderOfEpoch<T> generated(F start) {
  using Call = FunctionCall<const F>;
  constexpr bool kStarts = gives<Call, ReaderOf<T>>();
  static_assert(kStarts || Call::is_broken(),
                "from_generator calls start() for each loop, and the result for each element: "
                "write [] { return [next = 0]() mutable -> std::optional<T> { return next++; }; "
                "}, with std::nullopt at the end");
  if constexpr (kStarts) {
    return [start = std::move(start)](std::uint64_t) -> ReaderOf<T> { return start(); };
  } else {
    return {};
  }
}

/// Whether these are a count and at least a second argument.
template <class... Args>
inline constexpr bool kBeginsWithCount = false;
template <class Count, class F, class... Rest>
inline constexpr bool kBeginsWithCount<Count, F, Rest...> =
    std::is_convertible_v<Count, std::int64_t>;

/// Does not compile.
template <class Result, class... Args>
Result tabulated_without_count() {
  static_assert(kTaken<Args...>,
                "tabulate takes the number of elements, then the function of an index: write "
                "tabulate(count, [](std::int64_t index) { return ...; })");
  return refused<Result>();
}

/// Readers of `fn(0)` to `fn(count - 1)`.
template <class T, class F>
ReaderOfEpoch<T> tabulated(std::int64_t count, F fn) {
  using Call = FunctionCall<const F, std::int64_t>;
  constexpr bool kGivesElement = gives<Call, T>();
  static_assert(kGivesElement || Call::is_broken(),
                "tabulate calls fn(index) for each element: write [](std::int64_t index) { return "
                "...; }, with a result that converts to the element type of the dataset");
  if constexpr (kGivesElement) {
    return [count, fn = std::move(fn)](std::uint64_t) -> ReaderOf<T> {
      return [count, fn, next = std::int64_t{0}]() mutable -> std::optional<T> {
        if (next == count) return std::nullopt;
        return T(fn(next++));
      };
    };
  } else {
    return {};
  }
}

template <class T>
class ElementReader {
 public:
  explicit ElementReader(std::shared_ptr<const std::vector<T>> elements)
      : elements_(std::move(elements)) {}
  std::optional<T> operator()() {
    if (next_ == elements_->size()) return std::nullopt;
    return T((*elements_)[next_++]);
  }

 private:
  // Shared with the dataset.
  std::shared_ptr<const std::vector<T>> elements_;
  std::size_t next_ = 0;
};

template <class T, class U, class F>
class MapReader {
 public:
  MapReader(ReaderOf<T> reader, F fn) : reader_(std::move(reader)), fn_(std::move(fn)) {}
  std::optional<U> operator()() {
    std::optional<T> next = reader_();
    if (!next) return std::nullopt;
    return U(std::as_const(fn_)(std::move(*next)));
  }

 private:
  ReaderOf<T> reader_;
  F fn_;
};

template <class T>
class BatchReader {
 public:
  BatchReader(ReaderOf<T> reader, std::int64_t size, bool drop_remainder, CallSite site)
      : reader_(std::move(reader)), size_(size), drop_remainder_(drop_remainder), site_(site) {}
  std::optional<typename Batched<T>::type> operator()() {
    std::vector<T> elements;
    while (!ended_ && static_cast<std::int64_t>(elements.size()) < size_) {
      std::optional<T> next = reader_();
      if (next)
        elements.push_back(std::move(*next));
      else
        ended_ = true;
    }
    if (elements.empty() || (ended_ && drop_remainder_)) return std::nullopt;
    return make_batch(std::move(elements), site_);
  }

 private:
  ReaderOf<T> reader_;
  std::int64_t size_;
  bool drop_remainder_;
  CallSite site_;
  bool ended_ = false;
};

template <class T>
class ShuffleReader {
 public:
  ShuffleReader(ReaderOf<T> reader, std::uint64_t seed, std::uint64_t epoch)
      : reader_(std::move(reader)), seed_(seed), epoch_(epoch) {}
  std::optional<T> operator()() {
    if (reader_) read_all();
    if (next_ == order_.size()) return std::nullopt;
    return std::move(elements_[order_[next_++]]);
  }

 private:
  void read_all() {
    while (std::optional<T> element = reader_()) elements_.push_back(std::move(*element));
    order_ = permutation(elements_.size(), seed_, epoch_);
    reader_ = nullptr;
  }

  ReaderOf<T> reader_;  // Null once all has been read.
  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::vector<T> elements_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

template <class T>
class RepeatReader {
 public:
  /// Repetition k of epoch e reads epoch `e * times + k` of the repeated dataset.
  RepeatReader(std::function<ReaderOf<T>(std::uint64_t)> start, std::optional<std::uint64_t> times,
               std::uint64_t epoch)
      : start_(std::move(start)), times_(times), epoch_(epoch * times.value_or(1)) {}
  std::optional<T> operator()() {
    for (;;) {
      if (!reader_) {
        if (times_ && repetition_ == *times_) return std::nullopt;
        reader_ = start_(epoch_ + repetition_++);
        is_empty_ = true;
      }
      std::optional<T> next = reader_();
      if (next) {
        is_empty_ = false;
        return next;
      }
      reader_ = nullptr;
      if (is_empty_) times_ = repetition_;  // Nothing will ever come.
    }
  }

 private:
  std::function<ReaderOf<T>(std::uint64_t)> start_;
  std::optional<std::uint64_t> times_;  // Nothing: without end.
  std::uint64_t epoch_;
  std::uint64_t repetition_ = 0;
  ReaderOf<T> reader_;
  bool is_empty_ = true;
};

}  // namespace belfry::detail
