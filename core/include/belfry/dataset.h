// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batch_types.h"
#include "belfry/detail/dataset/recipe.h"
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

/// A recipe for a sequence of elements of any copyable type.
///
///     const auto batches = Dataset<int>::range(10).shuffle(7).batch(4);
///     for (const std::vector<int>& batch : batches) train(batch);      // Sizes 4, 4 and 2.
///     for (const auto& shares : strategy.distribute_dataset(batches, options)) {...}
///
/// Methods return new datasets and read nothing; each loop reads the elements anew (SEM-92). Copies
/// share the recipe.
/// Throws: InvalidArgumentError (kInvalidArgument) for numbers out of range. A loop throws
/// exceptions of the functions that it calls.
template <class T>
class Dataset : public detail::DatasetFacts {
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
    return Dataset(std::move(recipe),
                   [shared](std::uint64_t) -> Reader { return detail::ElementReader<T>(shared); });
  }
  /// The elements of a function: each loop calls `start()` for a reader, which returns the next
  /// element as `std::optional<T>`, and nothing at the end.
  template <class F>
  static Dataset from_generator(F start) {
    return Dataset(detail::Recipe::of_function("from_generator(unseen)"),
                   detail::generated<T>(std::move(start)));
  }
  /// `fn(0)`, `fn(1)`, ..., `fn(count - 1)`.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative count.
  template <class F>
  static Dataset tabulate(std::int64_t count, F fn, CallSite site = CallSite::here()) {
    detail::require_at_least(0, count, "the count of tabulate", site);
    return Dataset({{"tabulate(" + std::to_string(count) + ", unseen)", false}},
                   detail::tabulated<T>(count, std::move(fn)));
  }
  /// Arguments without a count; the call does not compile.
  template <class... Args>
    requires(!detail::kBeginsWithCount<Args...>)
  static Dataset tabulate(Args&&... /*arguments*/) {
    return detail::tabulated_without_count<Dataset, Args...>();
  }
  /// 0, 1, ..., count - 1.
  /// Throws: as tabulate.
  static Dataset range(std::int64_t count, CallSite site = CallSite::here())
    requires std::integral<T>
  {
    return tabulate(
               count, [](std::int64_t i) { return static_cast<T>(i); }, site)
        .with({{"range(" + std::to_string(count) + ")", true}});
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
      return Dataset<U>({recipe().then_unseen("map"), is_endless(), std::nullopt},
                        [start = start_, fn = std::move(fn)](std::uint64_t epoch) {
                          return detail::MapReader<T, U, F>((*start)(epoch), fn);
                        });
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
      return Dataset({recipe().then_unseen("filter"), is_endless(), std::nullopt},
                     [start = start_, keep = std::move(keep)](std::uint64_t epoch) -> Reader {
                       return detail::FilterReader<T, F>((*start)(epoch), keep);
                     });
    } else {
      return *this;
    }
  }

  /// Batches of `size` elements; the last batch has the rest, or is dropped. BatchOf gives the
  /// type: a vector of numbers, a tensor with one more extent, a structure of batches.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): `size` is below 1;
  /// - StructureMismatchError (kStructure), at reading: maps differ in their keys;
  /// - InvalidArgumentError (kShape), at reading: tensors differ in shape (SEM-93).
  Dataset<BatchOf<T>> batch(std::int64_t size, Remainder remainder = Remainder::kKeep,
                            CallSite site = CallSite::here()) const {
    detail::require_at_least(1, size, "the size of a batch", site);
    const bool drop = remainder == Remainder::kDrop;
    return Dataset<BatchOf<T>>(
        {recipe().then_batches("batch", {size}, drop, false), is_endless(), size},
        [start = start_, size, drop, site](std::uint64_t epoch) {
          return detail::BatchReader<T>((*start)(epoch), size, drop, site);
        });
  }
  /// The same rows in batches of `sizes`, used cyclically; a size may be 0. A batch with fewer rows
  /// than its size is the last.
  /// Throws: InvalidArgumentError (kInvalidArgument) if a size is negative or all are 0; at
  /// reading, the errors of `batch`.
  Dataset rebatch(std::vector<std::int64_t> sizes, Remainder remainder = Remainder::kKeep,
                  CallSite site = CallSite::here()) const
    requires(detail::is_batch<T>())
  {
    detail::require_sizes(sizes, site);
    const bool drop = remainder == Remainder::kDrop;
    detail::Recipe next = recipe().then_batches("rebatch", sizes, drop, true);
    return Dataset({std::move(next), is_endless(), std::nullopt},
                   [start = start_, sizes = std::move(sizes), drop, site](std::uint64_t epoch) {
                     return Reader(detail::RebatchReader<T>((*start)(epoch), sizes, drop, site));
                   });
  }
  /// Declares that batches have `size` rows, for instance after a `map` that keeps the rows.
  /// `batch` declares the size itself.
  /// Throws: InvalidArgumentError (kInvalidArgument) if `size` is below 1.
  Dataset with_batch_size(std::int64_t size, CallSite site = CallSite::here()) const
    requires(detail::is_batch<T>())
  {
    detail::require_at_least(1, size, "the size of a batch", site);
    return with(
        {recipe().then_batches("with_batch_size", {size}, false, true), is_endless(), size});
  }

  /// All elements in an order drawn from `seed`: the same order in every loop, a new order in each
  /// repetition of a later `repeat`. Holds all elements in memory at once.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a dataset without end.
  Dataset shuffle(std::uint64_t seed, CallSite site = CallSite::here()) const {
    if (is_endless()) detail::throw_endless("shuffle", site);
    return Dataset({recipe().then_numbered("shuffle", seed), false, batch_size()},
                   [start = start_, seed](std::uint64_t epoch) -> Reader {
                     return detail::ShuffleReader<T>((*start)(epoch), seed, epoch);
                   });
  }
  /// The elements `times` times, or without end. An empty dataset stays empty.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative number.
  Dataset repeat(std::int64_t times, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, times, "the number of repetitions", site);
    return repeated(static_cast<std::uint64_t>(times),
                    {recipe().then_repeat({times}), is_endless() && times != 0, batch_size()});
  }
  Dataset repeat() const {
    return repeated(std::nullopt, {recipe().then_repeat({}), true, batch_size()});
  }
  /// The elements of repetition `epoch` of a `repeat`, for loops that count epochs themselves.
  Dataset epoch(std::uint64_t epoch) const {
    return Dataset({recipe().then_numbered("epoch", epoch), is_endless(), batch_size()},
                   [start = start_, epoch](std::uint64_t own) { return (*start)(own + epoch); });
  }

  /// The first `count` elements.
  /// Throws: InvalidArgumentError (kInvalidArgument) for a negative count.
  Dataset take(std::int64_t count, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, count, "the count of take", site);
    return Dataset({recipe().then("take", {count}), false, batch_size()},
                   [start = start_, count](std::uint64_t epoch) -> Reader {
                     return detail::TakeReader<T>((*start)(epoch), count);
                   });
  }
  /// The elements after the first `count`.
  /// Throws: as take.
  Dataset skip(std::int64_t count, CallSite site = CallSite::here()) const {
    detail::require_at_least(0, count, "the count of skip", site);
    return Dataset({recipe().then_skip(count), is_endless(), batch_size()},
                   [start = start_, count](std::uint64_t epoch) -> Reader {
                     return detail::SkipReader<T>((*start)(epoch), count, 0);
                   });
  }
  /// Every `count`-th element, from number `index` on, for worker `index` of `count`.
  /// Throws: InvalidArgumentError (kInvalidArgument) unless 0 <= index < count.
  Dataset shard(std::int64_t count, std::int64_t index, CallSite site = CallSite::here()) const {
    detail::require_shard(count, index, site);
    return Dataset({recipe().then("shard", {count, index}), is_endless(), batch_size()},
                   [start = start_, count, index](std::uint64_t epoch) -> Reader {
                     return detail::SkipReader<T>((*start)(epoch), index, count - 1);
                   });
  }
  /// Pairs of elements, up to the end of the shorter dataset.
  template <class U>
  Dataset<std::pair<T, U>> zip(const Dataset<U>& other) const {
    return Dataset<std::pair<T, U>>(
        {recipe().then_zip(other.recipe()), is_endless() && other.is_endless(), std::nullopt},
        [start = start_, second = other.start_](std::uint64_t epoch) {
          return detail::ZipReader<T, U>((*start)(epoch), (*second)(epoch));
        });
  }

  /// The same elements under a name, in words: the file and the seed of the elements, for example.
  /// Several processes compare the names of their datasets, because functions cannot be compared
  /// (SEM-185).
  Dataset named(const std::string& name) const {
    return with({{"\"" + name + "\"", true}, is_endless(), batch_size()});
  }

  /// Reads from the start.
  Reader read(std::uint64_t epoch = 0) const { return (*start_)(epoch); }
  /// Starts a loop, and reads the first element.
  detail::ReaderIterator<T> begin() const { return detail::ReaderIterator<T>(read()); }
  std::default_sentinel_t end() const { return {}; }  ///< The end of a loop.

 private:
  template <class U>
  friend class Dataset;

  Dataset(detail::DatasetFacts facts, Start start)
      : DatasetFacts(std::move(facts)), start_(std::make_shared<const Start>(std::move(start))) {}
  Dataset with(detail::DatasetFacts facts) const {
    Dataset next = *this;
    static_cast<detail::DatasetFacts&>(next) = std::move(facts);
    return next;
  }
  Dataset repeated(std::optional<std::uint64_t> times, detail::DatasetFacts facts) const {
    return Dataset(std::move(facts), [start = start_, times](std::uint64_t epoch) -> Reader {
      return detail::RepeatReader<T>(*start, times, epoch);
    });
  }

  // Shared by copies, and by datasets that are made by methods.
  std::shared_ptr<const Start> start_;
};

}  // namespace belfry
