// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batch_types.h"
#include "belfry/detail/dataset/recipe.h"
#include "belfry/detail/reader_iterator.h"
#include "belfry/detail/readers.h"
#include "belfry/detail/row_reader.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// Whether to keep a last batch that is not full.
enum class Remainder : std::uint8_t { kKeep, kDrop };

/// A recipe for a sequence of elements of any copyable type; each loop reads the elements anew
/// (SEM-92). Copies share the recipe. Methods return new datasets and read nothing.
/// Throws: InvalidArgumentError (kInvalidArgument) for numbers out of range. Loops throw exceptions
/// of the functions that they call.
template <class T>
class Dataset {
 public:
  using value_type = T;  ///< The type of an element.
  /// Gives the next element, or nothing at the end; not called again after the end.
  using Reader = std::function<std::optional<T>()>;
  /// Starts reading. `epoch` is the number of the repetition: 0, or the count of `repeat`.
  using Start = std::function<Reader(std::uint64_t epoch)>;

  /// The elements of a vector, in order.
  static Dataset from(std::vector<T> elements) {
    detail::Recipe recipe = detail::recipe_of(elements);
    // Shared by all readers.
    auto shared = std::make_shared<const std::vector<T>>(std::move(elements));
    return Dataset([shared](std::uint64_t) -> Reader { return detail::ElementReader<T>(shared); })
        .made_by(std::move(recipe));
  }
  /// The elements of readers. `start()` is called for each loop and returns a function that returns
  /// the next element as `std::optional<T>`.
  template <class F>
  static Dataset from_generator(F start) {
    return Dataset(detail::generated<T>(std::move(start)))
        .made_by({"from_generator(unseen)", false});
  }
  /// `fn(0)`, `fn(1)`, ..., `fn(count - 1)`. Throws: InvalidArgumentError (kInvalidArgument) for a
  /// negative count.
  template <class F>
  static Dataset tabulate(std::int64_t count, F fn, CallSite site = CallSite::here()) {
    detail::require_at_least(0, count, "the count of tabulate", site);
    return Dataset(detail::tabulated<T>(count, std::move(fn)))
        .made_by({"tabulate(" + std::to_string(count) + ", unseen)", false});
  }
  /// Arguments without a count; the call does not compile.
  template <class... Args>
    requires(!detail::kBeginsWithCount<Args...>)
  static Dataset tabulate(Args&&... /*arguments*/) {
    return detail::tabulated_without_count<Dataset, Args...>();
  }
  /// 0, 1, ..., count - 1. Throws: as tabulate.
  static Dataset range(std::int64_t count, CallSite site = CallSite::here())
    requires std::integral<T>
  {
    return tabulate(
               count, [](std::int64_t i) { return static_cast<T>(i); }, site)
        .made_by({"range(" + std::to_string(count) + ")", true});
  }

  /// The elements that the readers of `start` give.
  explicit Dataset(Start start) : start_(std::make_shared<const Start>(std::move(start))) {}

  /// `fn(element)` for each element.
  template <class F>
  auto map(F fn) const {
    using Call = detail::FunctionCall<const F, T>;
    constexpr bool kGivesValue = detail::gives_value<Call>();
    static_assert(kGivesValue || Call::is_broken(),
                  "map of a dataset calls fn(element) for the new element: write [](const T& "
                  "element) { return ...; }");
    if constexpr (kGivesValue) {
      using U = std::remove_cvref_t<detail::ResultOf<Call>>;
      return Dataset<U>([start = start_, fn = std::move(fn)](std::uint64_t epoch) {
               return detail::MapReader<T, U, F>((*start)(epoch), fn);
             })
          .marked(recipe_.then_unseen("map"), is_endless_, std::nullopt);
    } else {
      return Call::no_result();
    }
  }
  /// The elements for which `keep(element)` is true.
  template <class F>
  Dataset filter(F keep) const {
    using Call = detail::FunctionCall<const F, const T&>;
    constexpr bool kChooses = detail::gives<Call, bool>();
    static_assert(kChooses || Call::is_broken(),
                  "filter calls keep(element): write [](const T& element) -> bool {...}");
    if constexpr (kChooses) {
      return Dataset([start = start_, keep = std::move(keep)](std::uint64_t epoch) -> Reader {
               return [reader = (*start)(epoch), keep]() -> std::optional<T> {
                 std::optional<T> next = reader();
                 while (next && !keep(std::as_const(*next))) next = reader();
                 return next;
               };
             })
          .marked(recipe_.then_unseen("filter"), is_endless_, std::nullopt);
    } else {
      return *this;
    }
  }

  /// Batches of `size` elements; the last batch has the rest. BatchOf gives the type.
  /// Throws: InvalidArgumentError (kInvalidArgument) if `size` is below 1; at reading
  /// StructureMismatchError (kStructure) if maps differ in their keys, InvalidArgumentError
  /// (kShape) if tensors differ in shape (SEM-93).
  Dataset<BatchOf<T>> batch(std::int64_t size, Remainder remainder = Remainder::kKeep,
                            CallSite site = CallSite::here()) const {
    detail::require_at_least(1, size, "the size of a batch", site);
    const bool drop = remainder == Remainder::kDrop;
    return Dataset<BatchOf<T>>([start = start_, size, drop, site](std::uint64_t epoch) {
             return detail::BatchReader<T>((*start)(epoch), size, drop, site);
           })
        .marked(recipe_.then("batch", std::to_string(size) + (drop ? ", drop" : "")), is_endless_,
                size);
  }
  /// The same rows in batches of `sizes`, used cyclically; a size may be 0. A batch with fewer rows
  /// than its size is the last. Throws: InvalidArgumentError (kInvalidArgument) if a size is
  /// negative or all are 0; at reading as `batch`.
  Dataset rebatch(std::vector<std::int64_t> sizes, Remainder remainder = Remainder::kKeep,
                  CallSite site = CallSite::here()) const
    requires(detail::is_batch<T>())
  {
    detail::require_sizes(sizes, site);
    const bool drop = remainder == Remainder::kDrop;
    std::string words = detail::numbers_text(sizes) + (drop ? ", drop" : "");
    return Dataset([start = start_, sizes = std::move(sizes), drop, site](std::uint64_t epoch) {
             return Reader(detail::RebatchReader<T>((*start)(epoch), sizes, drop, site));
           })
        .marked(recipe_.then("rebatch", words), is_endless_, std::nullopt);
  }
  /// Declares that batches have `size` rows, for instance after a `map` that keeps the rows.
  /// `batch` declares the size itself. Throws: InvalidArgumentError (kInvalidArgument) if `size` is
  /// below 1.
  Dataset with_batch_size(std::int64_t size, CallSite site = CallSite::here()) const
    requires(detail::is_batch<T>())
  {
    detail::require_at_least(1, size, "the size of a batch", site);
    return Dataset(*this).marked(recipe_.then("with_batch_size", std::to_string(size)), is_endless_,
                                 size);
  }

  /// All elements in an order drawn from `seed`: the same order in every loop, a new order in each
  /// repetition of a later `repeat`. All elements are in memory at once.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a dataset without end.
  Dataset shuffle(std::uint64_t seed, CallSite site = CallSite::here()) const {
    if (is_endless_) detail::throw_endless("shuffle", site);
    return Dataset([start = start_, seed](std::uint64_t epoch) -> Reader {
             return detail::ShuffleReader<T>((*start)(epoch), seed, epoch);
           })
        .marked(recipe_.then("shuffle", std::to_string(seed)), false, batch_size_);
  }
  /// The elements `times` times, or without end. An empty dataset stays empty.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative number.
  Dataset repeat(std::int64_t times, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, times, "the number of repetitions", site);
    return repeated(static_cast<std::uint64_t>(times))
        .marked(recipe_.then("repeat", std::to_string(times)), is_endless_ && times != 0,
                batch_size_);
  }
  Dataset repeat() const {
    return repeated(std::nullopt).marked(recipe_.then("repeat", ""), true, batch_size_);
  }
  /// The elements of repetition `epoch` of `repeat`, for loops that count epochs themselves.
  Dataset epoch(std::uint64_t epoch) const {
    return Dataset([start = start_, epoch](std::uint64_t outer) { return (*start)(outer + epoch); })
        .marked(recipe_.then("epoch", std::to_string(epoch)), is_endless_, batch_size_);
  }

  /// `take`: the first `count` elements. `skip`: the elements after the first `count`.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative count.
  Dataset take(std::int64_t count, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, count, "the count of take", site);
    return Dataset([start = start_, count](std::uint64_t epoch) -> Reader {
             return [reader = (*start)(epoch), left = count]() mutable -> std::optional<T> {
               return left-- > 0 ? reader() : std::nullopt;
             };
           })
        .marked(recipe_.then("take", std::to_string(count)), false, batch_size_);
  }
  /// The elements after the first `count`. Throws: as take.
  Dataset skip(std::int64_t count, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, count, "the count of skip", site);
    return Dataset([start = start_, count](std::uint64_t epoch) -> Reader {
             return detail::SkipReader<T>((*start)(epoch), count, 0);
           })
        .marked(recipe_.then_skip(count), is_endless_, batch_size_);
  }
  /// Every `count`-th element, from number `index` on: the part of a worker.
  /// Throws: InvalidArgumentError (kInvalidArgument) unless 0 <= index < count.
  Dataset shard(std::int64_t count, std::int64_t index, CallSite site = CallSite::here()) const {
    detail::require_shard(count, index, site);
    return Dataset([start = start_, count, index](std::uint64_t epoch) -> Reader {
             return detail::SkipReader<T>((*start)(epoch), index, count - 1);
           })
        .marked(recipe_.then("shard", std::to_string(count) + ", " + std::to_string(index)),
                is_endless_, batch_size_);
  }
  /// Pairs of elements, up to the end of the shorter dataset.
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
        .marked(recipe_.then_zip(other.recipe_), is_endless_ && other.is_endless_, std::nullopt);
  }

  /// The same elements under a name: words about what the functions of the program read, such as a
  /// file and a seed. Several processes compare the words in place of functions (SEM-185).
  Dataset named(const std::string& name) const {
    return Dataset(*this).made_by({"\"" + name + "\"", true});
  }

  /// Reads from the start.
  Reader read(std::uint64_t epoch = 0) const { return (*start_)(epoch); }
  /// Starts a loop, and reads the first element.
  detail::ReaderIterator<T> begin() const { return detail::ReaderIterator<T>(read()); }
  std::default_sentinel_t end() const { return {}; }  ///< The end of a loop.

  /// The rows of each batch but the last, if `batch` or `with_batch_size` declared the size.
  std::optional<std::int64_t> batch_size() const { return batch_size_; }
  /// Whether the dataset is known to have no end.
  bool is_endless() const { return is_endless_; }
  /// For belfry itself: the calls that made the dataset.
  const detail::Recipe& recipe() const { return recipe_; }

 private:
  template <class U>
  friend class Dataset;

  Dataset made_by(detail::Recipe recipe) && {
    recipe_ = std::move(recipe);
    return std::move(*this);
  }
  Dataset marked(detail::Recipe recipe, bool is_endless,
                 std::optional<std::int64_t> batch_size) && {
    recipe_ = std::move(recipe);
    is_endless_ = is_endless;
    batch_size_ = batch_size;
    return std::move(*this);
  }
  Dataset repeated(std::optional<std::uint64_t> times) const {
    return Dataset([start = start_, times](std::uint64_t epoch) -> Reader {
      return detail::RepeatReader<T>(*start, times, epoch);
    });
  }

  // Shared by copies, and by datasets that are made by methods.
  std::shared_ptr<const Start> start_;
  detail::Recipe recipe_{"start(unseen)", false};
  std::optional<std::int64_t> batch_size_;
  bool is_endless_ = false;
};

}  // namespace belfry
