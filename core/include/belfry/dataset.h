// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batch_types.h"
#include "belfry/detail/reader_iterator.h"
#include "belfry/detail/readers.h"
#include "belfry/detail/row_reader.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// Whether a last batch that is not full is kept.
enum class Remainder : std::uint8_t { kKeep, kDrop };

/// A recipe for a sequence of elements of any copyable type, read anew by each loop over it
/// (SEM-92). Copies share the recipe; methods return new datasets and read nothing themselves. They
/// throw InvalidArgumentError (kInvalidArgument) for numbers out of range; a loop throws what the
/// functions that it reads through throw.
template <class T>
class Dataset {
 public:
  using value_type = T;
  /// Gives the next element, or nothing at the end; not called again after that.
  using Reader = std::function<std::optional<T>()>;
  /// Starts reading. The number is that of the repetition: 0, or what `repeat` counts.
  using Start = std::function<Reader(std::uint64_t epoch)>;

  /// The elements of a vector, in order.
  static Dataset from(std::vector<T> elements) {
    // Shared by all readers.
    auto shared = std::make_shared<const std::vector<T>>(std::move(elements));
    return Dataset([shared](std::uint64_t) -> Reader { return detail::ElementReader<T>(shared); });
  }
  /// What readers give; `start()` is called for each pass and returns a function that returns the
  /// next element as `std::optional<T>`.
  template <class F>
    requires std::is_invocable_r_v<Reader, const F&>
  static Dataset from_generator(F start) {
    return Dataset([start = std::move(start)](std::uint64_t) -> Reader { return start(); });
  }
  /// `fn(0)`, `fn(1)`, ..., `fn(count - 1)`. Throws: InvalidArgumentError (kInvalidArgument) for a
  /// negative count.
  template <class F>
    requires std::is_invocable_r_v<T, const F&, std::int64_t>
  static Dataset tabulate(std::int64_t count, F fn, CallSite site = CallSite::here()) {
    detail::require_at_least(0, count, "the count of tabulate", site);
    return Dataset([count, fn = std::move(fn)](std::uint64_t) -> Reader {
      return [count, fn, next = std::int64_t{0}]() mutable -> std::optional<T> {
        if (next == count) return std::nullopt;
        return T(fn(next++));
      };
    });
  }
  /// 0, 1, ..., count - 1. Throws: the same.
  static Dataset range(std::int64_t count, CallSite site = CallSite::here())
    requires std::integral<T>
  {
    return tabulate(count, [](std::int64_t i) { return static_cast<T>(i); }, site);
  }

  explicit Dataset(Start start) : start_(std::make_shared<const Start>(std::move(start))) {}

  /// `fn(element)` for each element.
  template <class F>
  auto map(F fn) const {
    using U = std::remove_cvref_t<std::invoke_result_t<const F&, T>>;
    return Dataset<U>([start = start_, fn = std::move(fn)](std::uint64_t epoch) {
             return detail::MapReader<T, U, F>((*start)(epoch), fn);
           })
        .marked(is_endless_, std::nullopt);
  }
  /// The elements for which `keep(element)` is true.
  template <class F>
    requires std::predicate<const F&, const T&>
  Dataset filter(F keep) const {
    return Dataset([start = start_, keep = std::move(keep)](std::uint64_t epoch) -> Reader {
             return [reader = (*start)(epoch), keep]() -> std::optional<T> {
               std::optional<T> next = reader();
               while (next && !keep(std::as_const(*next))) next = reader();
               return next;
             };
           })
        .marked(is_endless_, std::nullopt);
  }

  /// Batches of `size` elements, the last one of what is left: see BatchOf for their type.
  /// Throws: InvalidArgumentError (kInvalidArgument) when `size` is below 1; on reading
  /// StructureMismatchError (kStructure) when maps have other keys, InvalidArgumentError (kShape)
  /// when tensors have other shapes (SEM-93).
  Dataset<BatchOf<T>> batch(std::int64_t size, Remainder remainder = Remainder::kKeep,
                            CallSite site = CallSite::here()) const {
    detail::require_at_least(1, size, "the size of a batch", site);
    const bool drop = remainder == Remainder::kDrop;
    return Dataset<BatchOf<T>>([start = start_, size, drop, site](std::uint64_t epoch) {
             return detail::BatchReader<T>((*start)(epoch), size, drop, site);
           })
        .marked(is_endless_, size);
  }
  /// The same rows in batches of `sizes`, used over and over; a size may be 0. A batch that falls
  /// short is the last. Throws: InvalidArgumentError (kInvalidArgument) when a size is negative or
  /// their sum is 0; on reading as `batch`.
  Dataset rebatch(std::vector<std::int64_t> sizes, Remainder remainder = Remainder::kKeep,
                  CallSite site = CallSite::here()) const
    requires(detail::is_batch<T>())
  {
    detail::require_sizes(sizes, site);
    const bool drop = remainder == Remainder::kDrop;
    return Dataset([start = start_, sizes = std::move(sizes), drop, site](std::uint64_t epoch) {
             return Reader(detail::RebatchReader<T>((*start)(epoch), sizes, drop, site));
           })
        .marked(is_endless_, std::nullopt);
  }
  /// Says that batches have `size` rows, for a `map` that keeps them: `batch` says so itself.
  /// Throws: InvalidArgumentError (kInvalidArgument) when that is below 1.
  Dataset with_batch_size(std::int64_t size, CallSite site = CallSite::here()) const
    requires(detail::is_batch<T>())
  {
    detail::require_at_least(1, size, "the size of a batch", site);
    return Dataset(*this).marked(is_endless_, size);
  }

  /// All elements in an order drawn from `seed`: the same in every loop, a new one in each
  /// repetition of a `repeat` that follows. They are in memory at once.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a dataset without end.
  Dataset shuffle(std::uint64_t seed, CallSite site = CallSite::here()) const {
    if (is_endless_) detail::throw_endless("shuffle", site);
    return Dataset([start = start_, seed](std::uint64_t epoch) -> Reader {
             return detail::ShuffleReader<T>((*start)(epoch), seed, epoch);
           })
        .marked(false, batch_size_);
  }
  /// The elements `times` times over, or without end; a dataset of none stays so.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative number.
  Dataset repeat(std::int64_t times, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, times, "the number of repetitions", site);
    return repeated(static_cast<std::uint64_t>(times))
        .marked(is_endless_ && times != 0, batch_size_);
  }
  Dataset repeat() const { return repeated(std::nullopt).marked(true, batch_size_); }
  /// What repetition `epoch` of `repeat` reads, for loops that count epochs themselves.
  Dataset epoch(std::uint64_t epoch) const {
    return Dataset([start = start_, epoch](std::uint64_t outer) { return (*start)(outer + epoch); })
        .marked(is_endless_, batch_size_);
  }

  /// The first `count` elements, and those after them.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative count.
  Dataset take(std::int64_t count, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, count, "the count of take", site);
    return Dataset([start = start_, count](std::uint64_t epoch) -> Reader {
             return [reader = (*start)(epoch), left = count]() mutable -> std::optional<T> {
               return left-- > 0 ? reader() : std::nullopt;
             };
           })
        .marked(false, batch_size_);
  }
  Dataset skip(std::int64_t count, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, count, "the count of skip", site);
    return Dataset([start = start_, count](std::uint64_t epoch) -> Reader {
             return detail::SkipReader<T>((*start)(epoch), count, 0);
           })
        .marked(is_endless_, batch_size_);
  }
  /// Every `count`-th element, from number `index` on: one worker's part of the data.
  /// Throws: InvalidArgumentError (kInvalidArgument) unless 0 <= index < count.
  Dataset shard(std::int64_t count, std::int64_t index, CallSite site = CallSite::here()) const {
    detail::require_shard(count, index, site);
    return Dataset([start = start_, count, index](std::uint64_t epoch) -> Reader {
             return detail::SkipReader<T>((*start)(epoch), index, count - 1);
           })
        .marked(is_endless_, batch_size_);
  }
  /// Pairs of elements, as long as both datasets last.
  template <class U>
  Dataset<std::pair<T, U>> zip(const Dataset<U>& other) const {
    using Pair = std::pair<T, U>;
    return Dataset<Pair>([start = start_, second = other.start_](std::uint64_t epoch) {
             return [a = (*start)(epoch), b = (*second)(epoch)]() -> std::optional<Pair> {
               std::optional<T> first = a();
               if (!first) return std::nullopt;
               std::optional<U> with = b();
               if (!with) return std::nullopt;
               return Pair(std::move(*first), std::move(*with));
             };
           })
        .marked(is_endless_ && other.is_endless_, std::nullopt);
  }

  /// Reads from the start.
  Reader read(std::uint64_t epoch = 0) const { return (*start_)(epoch); }
  /// Starts a loop, and reads its first element.
  detail::ReaderIterator<T> begin() const { return detail::ReaderIterator<T>(read()); }
  std::default_sentinel_t end() const { return {}; }

  /// The rows of each batch but the last, where `batch` has said so.
  std::optional<std::int64_t> batch_size() const { return batch_size_; }
  /// Whether it is known to go on for ever.
  bool is_endless() const { return is_endless_; }

 private:
  template <class U>
  friend class Dataset;

  Dataset marked(bool is_endless, std::optional<std::int64_t> batch_size) && {
    is_endless_ = is_endless;
    batch_size_ = batch_size;
    return std::move(*this);
  }
  Dataset repeated(std::optional<std::uint64_t> times) const {
    return Dataset([start = start_, times](std::uint64_t epoch) -> Reader {
      return detail::RepeatReader<T>(*start, times, epoch);
    });
  }

  // Shared by copies, and by the datasets made from this one.
  std::shared_ptr<const Start> start_;
  std::optional<std::int64_t> batch_size_;
  bool is_endless_ = false;
};

}  // namespace belfry
