// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batches.h"
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/dataset/rest_reader.h"
#include "belfry/detail/readers.h"
#include "belfry/detail/row_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

/// How a dataset becomes steps (SEM-95): a share for each replica, or nothing for some at the end.
namespace belfry::detail {

/// Throws: InvalidArgumentError (kInvalidArgument).
void require_options(const DistributeOptions& options, CallSite site);
/// Checks the rows of batches: a row for each replica if partial steps are dropped, else a row for
/// each step.
/// Throws: InvalidArgumentError (kInvalidArgument) for fewer rows.
void require_enough_rows(const std::vector<std::int64_t>& sizes, int replicas, EndOfData policy,
                         CallSite site);
/// The number of parts that a batch is cut into, and the parts of this strategy: `first` for
/// replica 0, `first + apart` for replica 1, and onwards.
struct BatchParts {
  int count = 1;
  int first = 0;
  int apart = 1;

  std::int64_t size_of(std::int64_t rows) const { return (rows + count - 1) / count; }
  bool leave_some_out(std::int64_t rows) const { return size_of(rows) * (count - 1) >= rows; }
};

/// With `BatchSplit::kEachBatch` the parts are for the replicas of all workers (SEM-142).
inline BatchParts parts_of(const DistributeOptions& options, int replicas) {
  if (options.split == BatchSplit::kEvenSizes) return {replicas, 0, 1};
  return {options.num_workers * replicas, options.worker, options.num_workers};
}

/// Throws: InvalidArgumentError (kInvalidArgument) if a batch in parts has fewer rows than the
/// policy needs: a row for each part if partial steps are dropped, a row for this worker if
/// replicas are masked.
void require_filled_parts(std::int64_t batch, const BatchParts& parts,
                          const DistributeOptions& options, CallSite site);
[[noreturn]] void throw_not_batches(CallSite site);
[[noreturn]] void throw_data_ended(CallSite site);
[[noreturn]] void throw_no_empty_form(CallSite site);
[[noreturn]] void throw_too_few_rows(std::int64_t rows, int replicas, CallSite site);
[[noreturn]] void throw_no_rows(std::int64_t rows, int worker, CallSite site);

/// The shares of the replicas in a step.
template <class B>
struct Step {
  std::vector<std::optional<B>> shares;
  RowsTaken taken{};        ///< From the dataset, with the shares of other workers.
  int empty = 0;            ///< Replicas that get nothing.
  bool is_partial = false;  ///< The data ended before every replica had its share.

  void add(std::optional<B> share) {
    if (!share) ++empty;
    shares.push_back(std::move(share));
  }
  bool has_nothing() const { return empty == static_cast<int>(shares.size()); }
};

template <class B>
using StepReaderOf = std::function<Step<B>()>;

/// Every replica takes the next element.
template <class B>
class ElementSteps {
 public:
  ElementSteps(ReaderOf<B> reader, int replicas)
      : reader_(std::move(reader)), replicas_(replicas) {}
  Step<B> operator()() {
    Step<B> step;
    for (int replica = 0; replica < replicas_; ++replica) {
      std::optional<B> next;
      if (!ended_) next = reader_();
      ended_ = !next;
      if (next) step.taken += {rows_or_one(*next), 1, equal_rows(*next).has_value()};
      step.add(std::move(next));
    }
    step.is_partial = ended_;
    return step;
  }

 private:
  ReaderOf<B> reader_;
  int replicas_;
  bool ended_ = false;
};

/// Batches of a known size: rows in order, by sizes that are used in turn.
template <class B>
class SizedSteps {
 public:
  SizedSteps(ReaderOf<B> reader, std::vector<std::int64_t> sizes, int replicas, CallSite site)
      : rows_(std::move(reader), false, site), sizes_(std::move(sizes)), replicas_(replicas) {}
  Step<B> operator()() {
    Step<B> step;
    for (int replica = 0; replica < replicas_; ++replica) {
      const std::int64_t size = sizes_[next_];
      next_ = (next_ + 1) % sizes_.size();
      if (size == 0) {
        step.add(std::nullopt);
      } else if (!rows_.more()) {
        step.add(std::nullopt);
        step.is_partial = true;
      } else {
        step.add(rows_.take(size));
        step.taken.rows += rows_.taken();
        step.is_partial = step.is_partial || rows_.taken() < size;
      }
    }
    return step;
  }

 private:
  RowReader<B> rows_;
  std::vector<std::int64_t> sizes_;
  int replicas_;
  std::size_t next_ = 0;
};

/// Each batch is a step, cut into equal parts, the last ones shorter or empty: batches of unknown
/// sizes, and all with `BatchSplit::kEachBatch`.
template <class B>
class BatchSteps {
 public:
  BatchSteps(ReaderOf<B> reader, int replicas, const DistributeOptions& options, CallSite site)
      : reader_(std::move(reader)),
        replicas_(replicas),
        parts_(parts_of(options, replicas)),
        options_(options),
        site_(site) {}
  Step<B> operator()() {
    Step<B> step;
    std::optional<B> batch = next_batch();
    const std::int64_t rows = batch ? rows_of(*batch, site_) : 0;
    step.taken.rows = rows;
    const std::int64_t part = parts_.size_of(rows);
    for (std::int64_t replica = 0; replica < replicas_; ++replica) {
      const std::int64_t begin = (parts_.first + replica * parts_.apart) * part;
      if (begin < rows)
        step.add(move_rows(*batch, begin, std::min(part, rows - begin)));
      else
        step.add(std::nullopt);
    }
    step.is_partial = parts_.leave_some_out(rows);
    if (rows > 0) complete(step, *batch, rows);
    return step;
  }

 private:
  // Only the last batch may be left out: an earlier gap would hide examples.
  void complete(Step<B>& step, B& batch, std::int64_t rows) {
    switch (options_.end_of_data) {
      case EndOfData::kDropPartialStep:
        if (step.is_partial && next_batch()) throw_too_few_rows(rows, parts_.count, site_);
        break;
      case EndOfData::kPadWithEmpties:
        // Replicas of other workers have rows: this worker takes the step as well.
        if (!step.has_nothing()) break;
        step.shares.front() = move_rows(batch, 0, 0);
        --step.empty;
        break;
      case EndOfData::kMaskReplicas:
        if (step.has_nothing() && next_batch()) throw_no_rows(rows, options_.worker, site_);
        break;
    }
  }

  std::optional<B> next_batch() {
    std::optional<B> batch;
    while (!ended_) {
      batch = reader_();
      ended_ = !batch;
      if (batch && rows_of(*batch, site_) > 0) break;
    }
    return batch;
  }

  ReaderOf<B> reader_;
  int replicas_;
  BatchParts parts_;
  DistributeOptions options_;
  CallSite site_;
  bool ended_ = false;
};

/// The steps of a dataset of batches, as the options ask for.
template <class B>
StepReaderOf<B> steps_of(ReaderOf<B> reader, const std::vector<std::int64_t>& sizes, int replicas,
                         const DistributeOptions& options, CallSite site) {
  if (options.elements == ElementUse::kPerReplica) {
    return ElementSteps<B>(std::move(reader), replicas);
  }
  if constexpr (!is_batch<B>()) {
    throw_not_batches(site);
  } else {
    if (!sizes.empty()) return SizedSteps<B>(std::move(reader), sizes, replicas, site);
    return BatchSteps<B>(std::move(reader), replicas, options, site);
  }
}

/// Replaces each tensor of a share by `move(AnyTensor)`, also inside types that are no nests.
template <class B, class Move>
void place(B& share, const Move& move) {
  if constexpr (IsTensor<B>::value) {
    if (!share.empty()) share = B(move(share.any()));
  } else if constexpr (has_tensor<B>()) {
    for_each_child(share, [&](auto& part) { place(part, move); });
  }
}

/// Gives replicas without a share an empty one, of the structure of the others', or `empty` if
/// there are no others.
template <class B>
void fill_with_empties(Step<B>& step, std::optional<B> empty, CallSite site) {
  if constexpr (!is_batch<B>()) {
    throw_no_empty_form(site);
  } else {
    for (std::optional<B>& share : step.shares) {
      if (share && !empty) empty = move_rows(*share, 0, 0);
    }
    for (std::optional<B>& share : step.shares) {
      if (!share) share = *empty;
    }
    step.empty = 0;
  }
}

}  // namespace belfry::detail
