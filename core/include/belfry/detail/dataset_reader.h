// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "belfry/call_site.h"
#include "belfry/dataset.h"
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset/rest_reader.h"
#include "belfry/detail/process_steps.h"
#include "belfry/detail/step_reader.h"
#include "belfry/distributed_values.h"
#include "belfry/strategy.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Copies tensors to devices on its own streams, beside the computation there.
class TensorFeed {
 public:
  /// The tensor on `target`. Order: enqueued; later work waits if it uses the result, or changes
  /// `tensor` (SEM-245).
  AnyTensor send(const AnyTensor& tensor, Placement target);

 private:
  std::map<int, std::unique_ptr<Stream>> streams_;  // By device of the backend.
};

/// A dataset, and the way in which a strategy distributes the dataset.
template <class B>
struct DatasetSource {
  Strategy* strategy;
  Dataset<B> dataset;
  DistributeOptions options;
  CallSite site;
  InputPart part{};
  std::shared_ptr<DatasetPosition> position{};  // Shared by copies, and by readers.
  /// Sizes of the shares, if the batches of the dataset have a known size.
  std::vector<std::int64_t> sizes{};
};

/// Reads steps, up to `prefetch` of them ahead. Several processes agree on a step when the step is
/// handed out, so that they may read ahead by different numbers of steps.
template <class B>
class DatasetReader {
 public:
  explicit DatasetReader(DatasetSource<B> source) : source_(std::move(source)) {}

  std::optional<PerReplica<B>> operator()() {
    core().require_cross("reading a distributed dataset", source_.site);
    const Scope scope = source_.strategy->scope(source_.site);
    // A failure takes the place of the exchange about the step.
    core().telling_failure(source_.site, [&] {
      // Not in the constructor, since the functions of the dataset are called.
      if (!steps_) start();
      while (!ended_ && static_cast<int>(ready_.size()) <= source_.options.prefetch) read_ahead();
      if (!ready_.empty() && ready_.front().failure) {
        std::rethrow_exception(std::exchange(ready_, {}).front().failure);
      }
    });
    if (ready_.empty()) return ended();
    Prepared next = std::move(ready_.front());
    ready_.pop_front();
    return handed_out(std::move(next));
  }

 private:
  struct Prepared {
    Step<B> step;
    bool is_placed = false;
    std::exception_ptr failure;  // Thrown when the step is due.
  };

  StrategyCore& core() const { return source_.strategy->cross_replica().core(); }
  bool is_one_process() const { return core().members().is_alone(); }
  bool pads() const { return source_.options.end_of_data == EndOfData::kPadWithEmpties; }
  bool drops() const { return source_.options.end_of_data == EndOfData::kDropPartialStep; }

  void start() {
    loop_ = source_.position->begin_loop();
    const DataPart part = source_.position->part();
    if (!is_one_process()) recipe_ = recipe_of_steps();
    if (source_.part.shares == 0) {
      steps_ = [] { return Step<B>(); };
      return;
    }
    auto reader = rest_of<B>(source_.dataset.read(), loop_->before.of_part(part.parts, part.part),
                             loop_->elements, source_.site);
    steps_ = steps_of(std::move(reader), source_.sizes, source_.part.shares, source_.options,
                      source_.site);
  }

  StepRecipe recipe_of_steps() const {
    std::string options = to_string(source_.options.end_of_data) + ", " +
                          to_string(source_.options.elements) + ", " +
                          to_string(source_.options.split);
    const auto size = source_.dataset.batch_size();
    if (size) options += ", batches of " + std::to_string(*size);
    return {std::move(options), source_.dataset.recipe(), source_.part.comparison, drops(),
            !loop_->before.empty()};
  }

  void read_ahead() {
    Prepared next;
    try {
      next.step = steps_();
      const bool is_last = next.step.has_nothing() || (drops() && next.step.is_partial);
      // Another process may have rows after the data of this process.
      ended_ = is_last && (is_one_process() || (drops() && source_.part.shares > 0));
      if (is_last && is_one_process()) return;
      if (is_one_process() && next.step.empty > 0 && pads()) {
        fill_with_empties(next.step, empty_, source_.site);
      }
      keep_empty(next.step);
      if (!is_last && (is_one_process() || source_.options.prefetch > 0)) place_shares(next);
    } catch (...) {
      ended_ = true;
      next.failure = std::current_exception();
    }
    ready_.push_back(std::move(next));
  }

  std::optional<PerReplica<B>> handed_out(Prepared next) {
    const StepEnd own{.has_nothing = next.step.has_nothing(),
                      .is_partial = next.step.is_partial,
                      .lacks_empty = lacks_empty(next.step),
                      .takes_shares = source_.part.shares > 0,
                      .taken = next.step.taken};
    const StepEnd end = agree_on_step(core(), own, number_, recipe_, source_.site);
    ++number_;
    if (end.has_nothing || (end.is_partial && drops())) return ended();
    if (next.step.empty > 0 && pads()) pad(next);
    if (!next.is_placed) place_shares(next);
    loop_->hand_out(source_.position->part().is_part ? own.taken : end.taken);
    return own_shares(std::move(next.step));
  }
  std::nullopt_t ended() {
    loop_->end();
    return std::nullopt;
  }

  // The shares that are there already stay in their places.
  void pad(Prepared& next) {
    std::vector<int> absent;
    for (int index = 0; index < source_.part.shares; ++index) {
      if (!next.step.shares[static_cast<std::size_t>(index)]) absent.push_back(index);
    }
    fill_with_empties(next.step, empty_, source_.site);
    if (!next.is_placed) return;
    for (const int index : absent) place_share(next, index);
  }

  void place_shares(Prepared& next) {
    for (int index = 0; index < source_.part.shares; ++index) place_share(next, index);
    next.is_placed = true;
  }

  void place_share(Prepared& next, int index) {
    std::optional<B>& share = next.step.shares[static_cast<std::size_t>(index)];
    if (!share || !source_.part.has(index)) return;
    const Placement target = source_.strategy->placement(source_.part.replica_of(index));
    place(*share, [&](const AnyTensor& tensor) {
      return source_.options.prefetch == 0 ? tensor.copy_to(target) : feed_.send(tensor, target);
    });
  }

  PerReplica<B> own_shares(Step<B> step) {
    std::vector<int> ids;
    ReplicaArray<B> shares(source_.part.shares - step.empty);
    for (int index = 0; index < source_.part.shares; ++index) {
      std::optional<B>& share = step.shares[static_cast<std::size_t>(index)];
      if (!share || !source_.part.has(index)) continue;
      ids.push_back(source_.part.replica_of(index));
      shares.emplace_back(std::move(*share));
    }
    return PerReplica<B>(std::move(shares), Participants(core().own(), std::move(ids)));
  }

  void keep_empty(Step<B>& step) {
    if constexpr (is_batch<B>()) {
      if (is_one_process() || !pads()) return;
      for (std::optional<B>& share : step.shares) {
        if (!share) continue;
        if (!empty_) empty_ = move_rows(*share, 0, 0);
        return;
      }
      // The rest of a part may have no batch.
      if (empty_ || loop_->before.empty() || source_.part.shares == 0) return;
      std::optional<B> first = source_.dataset.read()();
      if (first) empty_ = move_rows(*first, 0, 0);
    }
  }
  bool lacks_empty(const Step<B>& step) const {
    return pads() && step.has_nothing() && source_.part.shares > 0 && !empty_;
  }

  DatasetSource<B> source_;
  std::shared_ptr<LoopPosition> loop_;  // Of this loop, from the first step on.
  StepReaderOf<B> steps_;               // Empty before the first step.
  StepRecipe recipe_;                   // Of several processes.
  std::optional<B> empty_;              // A batch without rows.
  std::uint64_t number_ = 0;            // Of the next step.
  TensorFeed feed_;
  std::deque<Prepared> ready_;
  bool ended_ = false;
};

}  // namespace belfry::detail
