// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset_reader.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/process_steps.h"
#include "belfry/detail/step_reader.h"
#include "belfry/distributed_values.h"
#include "belfry/strategy.h"

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace belfry::detail {

template <class T>
struct IsDataset : std::false_type {};
template <class T>
struct IsDataset<Dataset<T>> : std::true_type {};

/// The call of an input function.
template <class F>
using InputFunctionCall = FunctionCall<const F, const InputContext&>;
/// The call of the function that an input function returns. Of an input function that returns
/// nothing, or cannot be called: a call of nothing, which is refused.
template <class F>
struct NextElementCall : FunctionCall<std::monostate> {};
template <class F>
  requires(gives_value<InputFunctionCall<F>>())
struct NextElementCall<F> : FunctionCall<std::remove_cvref_t<ResultOf<InputFunctionCall<F>>>> {};

/// Whether an input function can be called, and as_dataset takes the result.
template <class F>
constexpr bool is_input_function() {
  if constexpr (gives_value<InputFunctionCall<F>>()) {
    return IsDataset<std::remove_cvref_t<ResultOf<InputFunctionCall<F>>>>::value ||
           NextElementCall<F>::fits();
  } else {
    return false;
  }
}

/// The dataset made from the result of an input function: a dataset, or a function that returns the
/// next element, as `std::optional` if the elements have an end.
template <class R>
auto as_dataset(R made) {
  if constexpr (IsDataset<R>::value) {
    return made;
  } else {
    using Next = std::remove_cvref_t<std::invoke_result_t<R&>>;
    using T =
        typename std::conditional_t<IsOptional<Next>::value, Next, std::optional<Next>>::value_type;
    return Dataset<T>::from_generator([made = std::move(made)] {
      return [next = made]() mutable -> std::optional<T> { return next(); };
    });
  }
}

}  // namespace belfry::detail

namespace belfry {

/// The steps of a training: each step is a PerReplica with a share of the data for each replica.
///
///     const auto steps = strategy.distribute_dataset(
///         Dataset<float>::from(examples).batch(64), {.end_of_data = EndOfData::kMaskReplicas});
///     for (const PerReplica<std::vector<float>>& shares : steps) {
///       strategy.run([](ReplicaContext& replica, const std::vector<float>& share) {...}, shares);
///     }
///
/// Each loop reads the dataset anew, but for the loop after a restore of a Checkpoint with the
/// position of the dataset (SEM-255). Copies have one position. Tensors are on the replicas'
/// devices. The strategy outlives the dataset and its iterators. Loops run outside replicas;
/// elements are made with replica 0's device current. Order: copies to devices are enqueued; the
/// host blocks only inside the dataset's functions (SEM-97). Throws at construction:
/// - ContextError (kWrongContext, kOtherStrategy): in a replica or another strategy, also in a
///   loop;
/// - InvalidArgumentError (kInvalidArgument): options out of range, elements that are no batches,
///   or global batches that are too small.
/// Throws in a loop:
/// - exceptions of the dataset's functions;
/// - StructureMismatchError (kStructure), InvalidArgumentError (kShape, kInvalidArgument): batches
///   that cannot be split;
/// - DeviceError (kOutOfMemory).
template <class B>
class DistributedDataset {
 public:
  using value_type = PerReplica<B>;  ///< The type of a step.

  /// As Strategy::distribute_dataset. `is_made_here`: over several processes, the elements are for
  /// this process alone.
  DistributedDataset(Strategy& strategy, Dataset<B> dataset, const DistributeOptions& options,
                     CallSite site, bool is_made_here = false);

  /// Starts a loop, and reads the first step.
  detail::ReaderIterator<PerReplica<B>> begin() const;
  std::default_sentinel_t end() const { return {}; }  ///< The end of a loop.

  /// For belfry itself: the position that a Checkpoint saves.
  const std::shared_ptr<detail::DatasetPosition>& position() const { return source_.position; }

 private:
  detail::DatasetSource<B> source_;
};

/// The sizes of the shares of a global batch: one size for each replica of each worker, in the
/// order in which worker `worker` uses the sizes, cyclically (SEM-95). The sizes add up to
/// `global_batch` and differ by at most 1. Every worker reads its own share of the data; in each
/// step the sizes used by all workers together add up to `global_batch` too.
/// Throws: InvalidArgumentError (kInvalidArgument) if a count is below 1, or if `worker` is out of
/// range.
std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int num_workers,
                                                 int replicas_per_worker, int worker,
                                                 CallSite site = CallSite::here());

template <class B>
DistributedDataset<B>::DistributedDataset(Strategy& strategy, Dataset<B> dataset,
                                          const DistributeOptions& options, CallSite site,
                                          bool is_made_here)
    : source_{&strategy, std::move(dataset), options, site} {
  detail::require_options(options, site);
  source_.part = detail::input_part(strategy.cross_replica().core(), options, is_made_here, site);
  source_.position = std::make_shared<detail::DatasetPosition>(
      strategy.cross_replica().core(), source_.dataset.recipe(), source_.part.data, site);
  strategy.cross_replica().core().track(source_.position);
  const bool is_whole = options.elements == ElementUse::kGlobalBatch;
  if (is_whole && !detail::is_batch<B>()) detail::throw_not_batches(site);
  if (is_whole && source_.dataset.batch_size() && source_.part.shares > 0) {
    const std::int64_t size = *source_.dataset.batch_size();
    const int replicas = source_.part.shares;
    if (options.split == BatchSplit::kEachBatch) {
      detail::require_filled_parts(size, detail::parts_of(options, replicas), options, site);
    } else {
      const bool has_all = source_.part.is_whole;  // The shares of all workers.
      source_.sizes = batch_sizes_for_worker(size, has_all ? 1 : options.num_workers, replicas,
                                             has_all ? 0 : options.worker, site);
      detail::require_enough_rows(source_.sizes, replicas, options.end_of_data, site);
    }
  }
  if (options.end_of_data == EndOfData::kPadWithEmpties && !detail::is_batch<B>()) {
    detail::throw_no_empty_form(site);
  }
}

template <class B>
detail::ReaderIterator<PerReplica<B>> DistributedDataset<B>::begin() const {
  // Shared by the copies of a std::function.
  auto reader = std::make_shared<detail::DatasetReader<B>>(source_);
  return detail::ReaderIterator<PerReplica<B>>([reader] { return (*reader)(); });
}

template <class B>
DistributedDataset<B> Strategy::distribute_dataset(const Dataset<B>& dataset,
                                                   const DistributeOptions& options,
                                                   CallSite site) {
  core_.require_cross("distribute_dataset", site);
  return DistributedDataset<B>(*this, dataset, options, site);
}

template <class F>
auto Strategy::distribute_datasets_from_function(const F& fn, DistributeOptions options,
                                                 CallSite site) {
  using Call = detail::InputFunctionCall<F>;
  using Next = detail::NextElementCall<F>;
  constexpr bool kIsInput = detail::is_input_function<F>();
  static_assert(kIsInput || Call::is_broken() || Next::is_broken(),
                "an input function returns a Dataset, or a function without arguments for the next "
                "element: write [&](const InputContext& context) { return dataset; }");
  if constexpr (kIsInput) {
    core_.require_cross("distribute_datasets_from_function", site);
    options.elements = ElementUse::kPerReplica;
    detail::require_options(options, site);
    const InputContext context = detail::input_context(core_, options, site);
    using Made = std::remove_cvref_t<decltype(detail::as_dataset(fn(context)))>;
    auto made = [&] {
      // A process without replicas is no input pipeline.
      if (core_.own().count() == 0) return Made::from({});
      const Scope here = scope(site);
      return detail::as_dataset(fn(context));
    }();
    using B = typename decltype(made)::value_type;
    return DistributedDataset<B>(*this, std::move(made), options, site, true);
  } else if constexpr (Call::is_broken()) {
    return Call::unmade();
  } else {
    return Next::no_result();
  }
}

}  // namespace belfry
