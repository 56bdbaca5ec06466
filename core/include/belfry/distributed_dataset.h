// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset/input_context.h"
#include "belfry/detail/input_function.h"
#include "belfry/detail/step_reader.h"
#include "belfry/detail/tensor_feed.h"
#include "belfry/distributed_values.h"
#include "belfry/strategy.h"

#include <cstdint>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

/// The steps of a dataset on a strategy's replicas. Each loop reads the dataset anew and gives a
/// PerReplica for each step, as an argument of `run`. Tensors are on the replicas' devices. Made by
/// `Strategy::distribute_dataset`; the strategy must outlive the dataset and its iterators.
/// Context: cross-replica; elements are made with replica 0's device current.
/// Order: copies to devices are enqueued; the host blocks only inside the dataset's functions
/// (SEM-97).
/// Throws: ContextError (kWrongContext, kOtherStrategy) in a replica or another strategy. At
/// construction: InvalidArgumentError (kInvalidArgument) for options out of range, elements that
/// are no batches, and global batches that are too small. In a loop: exceptions of the dataset's
/// functions, StructureMismatchError (kStructure) and InvalidArgumentError (kShape,
/// kInvalidArgument) for batches that cannot be split, DeviceError (kOutOfMemory).
template <class B>
class DistributedDataset {
 public:
  using value_type = PerReplica<B>;  ///< The type of a step.

  /// As Strategy::distribute_dataset.
  DistributedDataset(Strategy& strategy, Dataset<B> dataset, const DistributeOptions& options,
                     CallSite site);

  /// Starts a loop, and reads the first step.
  detail::ReaderIterator<PerReplica<B>> begin() const;
  std::default_sentinel_t end() const { return {}; }  ///< The end of a loop.

 private:
  class Reader;

  Strategy* strategy_;
  Dataset<B> dataset_;
  DistributeOptions options_;
  CallSite site_;
  std::vector<std::int64_t>
      sizes_;  // Sizes of the shares, if the batches of the dataset have a known size.
};

/// The sizes of the shares of a global batch: one size for each replica of each worker, in the
/// order in which worker `worker` uses the sizes, cyclically (SEM-95). The sizes add up to
/// `global_batch` and differ by at most 1. Every worker reads its own share of the data; in each
/// step the sizes used by all workers together add up to `global_batch` too. Throws:
/// InvalidArgumentError (kInvalidArgument) if a count is below 1, or if `worker` is out of range.
std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int num_workers,
                                                 int replicas_per_worker, int worker,
                                                 CallSite site = CallSite::here());

/// Reads steps, up to `prefetch` of them ahead.
template <class B>
class DistributedDataset<B>::Reader {
 public:
  explicit Reader(const DistributedDataset& from)
      : strategy_(from.strategy_),
        dataset_(from.dataset_),
        options_(from.options_),
        site_(from.site_),
        sizes_(from.sizes_) {}

  std::optional<PerReplica<B>> operator()() {
    strategy_->cross_replica().core().require_cross("reading a distributed dataset", site_);
    const Scope scope = strategy_->scope(site_);
    // Not in the constructor, since the functions of the dataset are called.
    if (!steps_) {
      steps_ =
          detail::steps_of(dataset_.read(), sizes_, strategy_->num_replicas(), options_, site_);
    }
    while (!ended_ && static_cast<int>(ready_.size()) <= options_.prefetch) read_ahead();
    if (ready_.empty()) return std::nullopt;
    Prepared next = std::move(ready_.front());
    ready_.pop_front();
    if (next.failure) std::rethrow_exception(next.failure);
    detail::TensorFeed::arrive(std::move(next.on_the_way));
    return std::move(next.step);
  }

 private:
  struct Prepared {
    std::optional<PerReplica<B>> step;
    detail::TensorFeed::Parcel on_the_way;
    std::exception_ptr failure;  // Thrown when the step is due.
  };

  void read_ahead() {
    Prepared next;
    try {
      next.step = next_step(next.on_the_way);
      ended_ = !next.step;
    } catch (...) {
      ended_ = true;
      next.failure = std::current_exception();
    }
    if (next.step || next.failure) ready_.push_back(std::move(next));
  }

  std::optional<PerReplica<B>> next_step(detail::TensorFeed::Parcel& parcel) {
    detail::Step<B> step = steps_();
    if (step.has_nothing()) return std::nullopt;
    if (step.is_partial && options_.end_of_data == EndOfData::kDropPartialStep) return std::nullopt;
    if (step.empty > 0 && options_.end_of_data == EndOfData::kPadWithEmpties) {
      detail::fill_with_empties(step, site_);
    }
    return placed(std::move(step), parcel);
  }

  PerReplica<B> placed(detail::Step<B> step, detail::TensorFeed::Parcel& parcel) {
    std::vector<int> ids;
    const int replicas = strategy_->num_replicas();
    detail::ReplicaArray<B> shares(replicas - step.empty);
    for (int replica = 0; replica < replicas; ++replica) {
      std::optional<B>& share = step.shares[static_cast<std::size_t>(replica)];
      if (!share) continue;
      ids.push_back(replica);
      const Placement target = strategy_->placement(replica);
      detail::place(*share, [&](const AnyTensor& tensor) {
        return options_.prefetch == 0 ? tensor.copy_to(target) : feed_.send(tensor, target, parcel);
      });
      shares.emplace_back(std::move(*share));
    }
    return PerReplica<B>(std::move(shares), detail::Participants(replicas, std::move(ids)));
  }

  Strategy* strategy_;
  Dataset<B> dataset_;
  DistributeOptions options_;
  CallSite site_;
  std::vector<std::int64_t> sizes_;
  detail::StepReaderOf<B> steps_;  // Empty before the first step.
  detail::TensorFeed feed_;
  std::deque<Prepared> ready_;
  bool ended_ = false;
};

template <class B>
DistributedDataset<B>::DistributedDataset(Strategy& strategy, Dataset<B> dataset,
                                          const DistributeOptions& options, CallSite site)
    : strategy_(&strategy), dataset_(std::move(dataset)), options_(options), site_(site) {
  strategy.cross_replica().core().require_one_process("a distributed dataset", site);
  detail::require_options(options, site);
  const bool is_whole = options.elements == ElementUse::kGlobalBatch;
  if (is_whole && !detail::is_batch<B>()) detail::throw_not_batches(site);
  if (is_whole && dataset_.batch_size()) {
    const std::int64_t size = *dataset_.batch_size();
    const int replicas = strategy.num_replicas();
    if (options.split == BatchSplit::kEachBatch) {
      detail::require_filled_parts(size, detail::parts_of(options, replicas), options, site);
    } else {
      sizes_ = batch_sizes_for_worker(size, options.num_workers, replicas, options.worker, site);
      detail::require_enough_rows(sizes_, replicas, options.end_of_data, site);
    }
  }
  if (options.end_of_data == EndOfData::kPadWithEmpties && !detail::is_batch<B>()) {
    detail::throw_no_empty_form(site);
  }
}

template <class B>
detail::ReaderIterator<PerReplica<B>> DistributedDataset<B>::begin() const {
  // Shared by the copies of a std::function.
  auto reader = std::make_shared<Reader>(*this);
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
  constexpr bool kIsInput = detail::is_input_function<F>();
  static_assert(kIsInput,
                "an input function returns a Dataset, or a function without arguments for the next "
                "element: write [&](const InputContext& context) { return dataset; }");
  if constexpr (kIsInput) {
    core_.require_cross("distribute_datasets_from_function", site);
    options.elements = ElementUse::kPerReplica;
    detail::require_options(options, site);
    const InputContext context{options.num_workers, options.worker,
                               options.num_workers * num_replicas()};
    auto made = [&] {
      const Scope here = scope(site);
      return detail::as_dataset(fn(context));
    }();
    using B = typename decltype(made)::value_type;
    return DistributedDataset<B>(*this, std::move(made), options, site);
  } else {
    return detail::Refused();
  }
}

}  // namespace belfry
