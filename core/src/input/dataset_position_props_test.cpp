// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Positions in random pipelines, against a list of rows without the rows handed out.
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/detail/dataset/row_set.h"
#include "belfry/distributed_dataset.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace belfry::dataset_position_props_test {
namespace {

using Ints = std::vector<int>;

enum class After : std::uint8_t { kNothing, kMap, kRebatch, kRepeat, kShuffle };

struct Pipeline {
  int rows = 0;
  std::optional<std::uint64_t> seed;  // Of a shuffle of rows.
  int repeats = 1;                    // Of rows.
  Remainder remainder = Remainder::kKeep;
  After after = After::kNothing;
  std::vector<std::int64_t> sizes{};  // Of rebatch.

  Dataset<Ints> dataset(int batch) const {
    auto source = Dataset<int>::range(rows);
    if (seed) source = source.shuffle(*seed);
    const auto batches = source.repeat(repeats).batch(batch, remainder);
    switch (after) {
      case After::kNothing:
        return batches;
      case After::kMap:
        return batches.map([](const Ints& same) { return same; });
      case After::kRebatch:
        return batches.rebatch(sizes);
      case After::kRepeat:
        return batches.repeat(2);
      case After::kShuffle:
        return batches.shuffle(5);
    }
    return batches;
  }
  // Whether later calls depend on the sizes of batches.
  bool counts_batches() const {
    return after == After::kShuffle || (after == After::kRepeat && remainder == Remainder::kDrop);
  }
  bool knows_size() const { return after != After::kMap && after != After::kRebatch; }
};

Pipeline drawn_pipeline() {
  Pipeline pipeline;
  pipeline.rows = *rc::gen::inRange(0, 30);
  if (*rc::gen::arbitrary<bool>()) pipeline.seed = *rc::gen::inRange(0, 9);
  pipeline.repeats = *rc::gen::inRange(1, 4);
  pipeline.remainder = *rc::gen::element(Remainder::kKeep, Remainder::kDrop);
  pipeline.after = *rc::gen::element(After::kNothing, After::kMap, After::kRebatch, After::kRepeat,
                                     After::kShuffle);
  pipeline.sizes.resize(*rc::gen::inRange<std::size_t>(1, 4));
  for (std::int64_t& size : pipeline.sizes) size = *rc::gen::inRange(1, 5);
  return pipeline;
}

// The rows of all steps without the first `taken` rows of the dataset.
Ints rows_left(const Dataset<Ints>& dataset, std::size_t taken, int replicas,
               const DistributeOptions& options) {
  std::vector<Ints> batches;
  for (Ints batch : dataset) {
    const std::size_t gone = std::min(taken, batch.size());
    taken -= gone;
    batch.erase(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(gone));
    if (!batch.empty()) batches.push_back(batch);
  }
  const bool drops = options.end_of_data == EndOfData::kDropPartialStep;
  if (drops && options.elements == ElementUse::kPerReplica) {
    batches.resize(batches.size() - batches.size() % static_cast<std::size_t>(replicas));
  }
  Ints rows;
  for (const Ints& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
  if (drops && options.elements == ElementUse::kGlobalBatch) {
    rows.resize(rows.size() - rows.size() % static_cast<std::size_t>(*dataset.batch_size()));
  }
  return rows;
}

Ints rows_of(const PerReplica<Ints>& step) {
  Ints rows;
  for (const Ints& share : step) rows.insert(rows.end(), share.begin(), share.end());
  return rows;
}

// The rows of a loop, or of its first steps.
template <class Enough>
Ints loop(const DistributedDataset<Ints>& data, const Enough& enough) {
  Ints rows;
  for (const PerReplica<Ints>& step : data) {
    const Ints more = rows_of(step);
    rows.insert(rows.end(), more.begin(), more.end());
    if (enough()) break;
  }
  return rows;
}
Ints loop(const DistributedDataset<Ints>& data) {
  return loop(data, [] { return false; });
}

// A strategy with data and a checkpoint.
struct Job {
  Job(const Pipeline& pipeline, int batch, int devices, const DistributeOptions& options)
      : backend(devices),
        dataset(pipeline.dataset(batch)),
        data(strategy.distribute_dataset(dataset, options)) {
    checkpoint.add("data", data);
  }

  HostBackend backend;
  MirroredStrategy strategy{backend};
  Dataset<Ints> dataset;
  DistributedDataset<Ints> data;
  Checkpoint checkpoint{strategy};
};

RC_GTEST_PROP(DatasetPositionProps, GoOnWithTheRowsThatWereNotHandedOut, ()) {
  testing::asserts("SEM-255");
  testing::asserts("SEM-256");
  const Pipeline pipeline = drawn_pipeline();
  DistributeOptions options{
      .end_of_data = *rc::gen::element(EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties,
                                       EndOfData::kMaskReplicas),
      .elements = *rc::gen::element(ElementUse::kGlobalBatch, ElementUse::kPerReplica)};
  const bool is_sized = options.elements == ElementUse::kGlobalBatch;
  // A batch of unknown size with too few rows for the replicas is an error.
  if (is_sized && !pipeline.knows_size()) options.end_of_data = EndOfData::kMaskReplicas;
  const bool drops = options.end_of_data == EndOfData::kDropPartialStep;
  const int least = *rc::gen::inRange(1, 9);
  std::optional<TensorFile> file;
  std::size_t taken = 0;
  const int interruptions = *rc::gen::inRange(0, 4);
  for (int job = 0; job <= interruptions; ++job) {
    const int replicas = *rc::gen::inRange(1, 7);
    int batch = pipeline.counts_batches() ? least : *rc::gen::inRange(1, 9);
    // Dropped steps need a row for each replica. Otherwise some replicas have no rows.
    if (is_sized && drops) batch = std::max(batch, pipeline.counts_batches() ? 6 : replicas);
    options.prefetch = *rc::gen::inRange(0, 3);
    Job one(pipeline, batch, replicas, options);
    if (file) one.checkpoint.restore(*file);
    const Ints rest = rows_left(one.dataset, taken, replicas, options);
    if (job == interruptions) {
      RC_ASSERT(loop(one.data) == rest);
      RC_ASSERT(loop(one.data) == rows_left(one.dataset, 0, replicas, options));
      return;
    }
    int steps = *rc::gen::inRange(1, 6);
    file.reset();
    const Ints rows = loop(one.data, [&] {
      if (--steps > 0) return false;
      file = one.checkpoint.contents();
      return true;
    });
    RC_ASSERT(rows.size() <= rest.size());
    RC_ASSERT(std::equal(rows.begin(), rows.end(), rest.begin()));
    taken = file ? taken + rows.size() : 0;
    // A break does not change the position. The end of the loop does.
    if (file) RC_ASSERT(one.checkpoint.contents() == *file);
    file = one.checkpoint.contents();
  }
}

std::set<std::int64_t> rows_in(const detail::RowSet& set) {
  std::set<std::int64_t> rows;
  for (const detail::RowRange& range : set.ranges()) {
    for (std::int64_t row = range.begin; row < range.end; ++row) RC_ASSERT(rows.insert(row).second);
  }
  return rows;
}

// Rows of parts, against a set of numbers.
RC_GTEST_PROP(DatasetPositionProps, HaveTheNextRowsOfEachPart, ()) {
  testing::asserts("SEM-291");
  detail::RowSet taken;
  std::set<std::int64_t> model;
  for (int job = *rc::gen::inRange(1, 5); job > 0; --job) {
    const auto parts = *rc::gen::inRange<std::size_t>(1, 6);
    const auto more =
        *rc::gen::container<std::vector<std::int64_t>>(parts, rc::gen::inRange<std::int64_t>(0, 9));
    for (std::size_t part = 0; part < parts; ++part) {
      std::int64_t row = static_cast<std::int64_t>(part);
      for (std::int64_t left = more[part]; left > 0; row += static_cast<std::int64_t>(parts)) {
        if (model.insert(row).second) --left;
      }
    }
    taken = taken.with_next(more);
    RC_ASSERT(rows_in(taken) == model);
    const int reader = *rc::gen::inRange(0, static_cast<int>(parts));
    std::set<std::int64_t> own;
    for (const std::int64_t row : model) {
      const auto count = static_cast<std::int64_t>(parts);
      if (row % count == reader) own.insert(row / count);
    }
    RC_ASSERT(rows_in(taken.of_part(static_cast<int>(parts), reader)) == own);
  }
}

RC_GTEST_PROP(DatasetPositionProps, AreRefusedForOtherRows, ()) {
  testing::asserts("SEM-257");
  const Pipeline pipeline = drawn_pipeline();
  Pipeline other = pipeline;
  int batch = 6;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      other.rows += 1;
      break;
    case 1:
      other.seed = other.seed ? *other.seed + 1 : 0;
      break;
    case 2:
      other.repeats += 1;
      break;
    default:
      RC_PRE(pipeline.counts_batches());
      batch = 7;
  }
  const DistributeOptions options{.end_of_data = EndOfData::kMaskReplicas};
  Job saved(pipeline, 6, 2, options);
  Job restored(other, batch, 2, options);
  const TensorFile file = saved.checkpoint.contents();
  RC_ASSERT_THROWS_AS(restored.checkpoint.restore(file), VariableMismatchError);
}

}  // namespace
}  // namespace belfry::dataset_position_props_test
