// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/process_steps.h"
#include "belfry/detail/step_reader.h"
#include "belfry/detail/tensor_feed.h"
#include "belfry/distributed_values.h"
#include "belfry/strategy.h"

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// A dataset, and the way in which a strategy distributes the dataset.
template <class B>
struct DatasetSource {
  Strategy* strategy;
  Dataset<B> dataset;
  DistributeOptions options;
  CallSite site;
  InputPart part{};
  /// Sizes of the shares, if the batches of the dataset have a known size.
  std::vector<std::int64_t> sizes{};
};

/// Reads steps, up to `prefetch` of them ahead.
template <class B>
class DatasetReader {
 public:
  explicit DatasetReader(DatasetSource<B> source) : source_(std::move(source)) {}

  std::optional<PerReplica<B>> operator()() {
    source_.strategy->cross_replica().core().require_cross("reading a distributed dataset",
                                                           source_.site);
    const Scope scope = source_.strategy->scope(source_.site);
    // Not in the constructor, since the functions of the dataset are called.
    if (!steps_) telling_failures([this] { start(); });
    while (!ended_ && static_cast<int>(ready_.size()) <= source_.options.prefetch) read_ahead();
    if (ready_.empty()) return std::nullopt;
    Prepared next = std::move(ready_.front());
    ready_.pop_front();
    if (next.failure) std::rethrow_exception(next.failure);
    TensorFeed::arrive(std::move(next.on_the_way));
    return std::move(next.step);
  }

 private:
  struct Prepared {
    std::optional<PerReplica<B>> step;
    TensorFeed::Parcel on_the_way;
    std::exception_ptr failure;  // Thrown when the step is due.
  };

  StrategyCore& core() const { return source_.strategy->cross_replica().core(); }

  void start() {
    if (source_.part.shares == 0) {
      steps_ = [] { return Step<B>(); };
      return;
    }
    steps_ = steps_of(source_.dataset.read(), source_.sizes, source_.part.shares, source_.options,
                      source_.site);
    if (core().processes() == nullptr) return;
    recipe_ = to_string(source_.options.end_of_data) + ", " + to_string(source_.options.elements) +
              ", " + to_string(source_.options.split) + ", prefetch " +
              std::to_string(source_.options.prefetch);
    const auto size = source_.dataset.batch_size();
    if (size) recipe_ += ", batches of " + std::to_string(*size);
  }

  // A failure takes the place of the exchange about the step.
  template <class F>
  void telling_failures(const F& fn) {
    try {
      fn();
    } catch (...) {
      tell_failed_step(core(), source_.site);
      throw;
    }
  }

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

  std::optional<PerReplica<B>> next_step(TensorFeed::Parcel& parcel) {
    Step<B> step;
    telling_failures([&] {
      step = steps_();
      keep_empty(step);
    });
    const StepEnd own{.has_nothing = step.has_nothing(),
                      .is_partial = step.is_partial,
                      .lacks_empty = lacks_empty(step),
                      .takes_shares = source_.part.shares > 0};
    const StepEnd end = agree_on_step(core(), own, recipe_, source_.site);
    if (end.has_nothing) return std::nullopt;
    if (end.is_partial && source_.options.end_of_data == EndOfData::kDropPartialStep)
      return std::nullopt;
    if (step.empty > 0 && source_.options.end_of_data == EndOfData::kPadWithEmpties) {
      fill_with_empties(step, empty_, source_.site);
    }
    return placed(std::move(step), parcel);
  }

  PerReplica<B> placed(Step<B> step, TensorFeed::Parcel& parcel) {
    std::vector<int> ids;
    ReplicaArray<B> shares(source_.part.shares - step.empty);
    for (int index = 0; index < source_.part.shares; ++index) {
      const int replica = source_.part.replica_of(index);
      std::optional<B>& share = step.shares[static_cast<std::size_t>(index)];
      if (!share || !source_.part.own.has(replica)) continue;
      ids.push_back(replica);
      const Placement target = source_.strategy->placement(replica);
      place(*share, [&](const AnyTensor& tensor) {
        return source_.options.prefetch == 0 ? tensor.copy_to(target)
                                             : feed_.send(tensor, target, parcel);
      });
      shares.emplace_back(std::move(*share));
    }
    const int replicas = source_.strategy->num_replicas();
    return PerReplica<B>(std::move(shares), Participants(replicas, std::move(ids)));
  }

  // Over several processes, another process may have rows after the data of this process.
  void keep_empty(Step<B>& step) {
    if constexpr (is_batch<B>()) {
      if (core().processes() == nullptr ||
          source_.options.end_of_data != EndOfData::kPadWithEmpties) {
        return;
      }
      for (std::optional<B>& share : step.shares) {
        if (!share) continue;
        if (!empty_) empty_ = move_rows(*share, 0, 0);
        return;
      }
    }
  }
  bool lacks_empty(const Step<B>& step) const {
    return source_.options.end_of_data == EndOfData::kPadWithEmpties && step.has_nothing() &&
           source_.part.shares > 0 && !empty_;
  }

  DatasetSource<B> source_;
  StepReaderOf<B> steps_;   // Empty before the first step.
  std::string recipe_;      // Compared between processes.
  std::optional<B> empty_;  // A batch without rows.
  TensorFeed feed_;
  std::deque<Prepared> ready_;
  bool ended_ = false;
};

}  // namespace belfry::detail
