// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-142: every batch is a step, in parts of equal size as far as the rows go.
#include "belfry/backend/host_backend.h"
#include "belfry/distributed_dataset.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace belfry::batch_split_test {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int>;
using Shares = std::vector<std::optional<Ints>>;  // Of a step; empty: the replica is masked.
using Steps = std::vector<Shares>;

constexpr EndOfData kPolicies[] = {EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties,
                                   EndOfData::kMaskReplicas};

// A worker; the data are the numbers from 0 on.
struct SplitCase {
  int rows = 0;
  int batch = 1;
  int replicas = 1;
  int workers = 1;
  int worker = 0;
  EndOfData policy = EndOfData::kPadWithEmpties;

  friend std::ostream& operator<<(std::ostream& out, const SplitCase& one) {
    return out << one.rows << " rows in batches of " << one.batch << ", worker " << one.worker
               << " of " << one.workers << " with " << one.replicas << " replicas, "
               << to_string(one.policy);
  }
};

DistributeOptions options_of(const SplitCase& one) {
  return {.end_of_data = one.policy,
          .num_workers = one.workers,
          .worker = one.worker,
          .split = BatchSplit::kEachBatch};
}

// The steps, or nothing if the dataset is refused.
std::optional<Steps> steps_of(Strategy& strategy, const Dataset<Ints>& batches,
                              const DistributeOptions& options) {
  Steps steps;
  try {
    for (const PerReplica<Ints>& step : strategy.distribute_dataset(batches, options)) {
      Shares& shares = steps.emplace_back();
      for (int replica = 0; replica < step.size(); ++replica) {
        shares.push_back(step.has(replica) ? std::optional(step[replica]) : std::nullopt);
      }
    }
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return std::nullopt;
  }
  return steps;
}

std::optional<Steps> steps_of(Strategy& strategy, const SplitCase& one) {
  const auto batches = Dataset<int>::range(one.rows).batch(one.batch);
  return steps_of(strategy, batches, options_of(one));
}

// The parts of a batch: each takes as many rows as the smallest number with which all rows are
// taken.
std::vector<Ints> parts_of(Ints rows, int parts) {
  std::size_t size = 0;
  while (size * static_cast<std::size_t>(parts) < rows.size()) ++size;
  std::vector<Ints> all;
  for (int part = 0; part < parts; ++part) {
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(size, rows.size()));
    all.emplace_back(rows.begin(), end);
    rows.erase(rows.begin(), end);
  }
  return all;
}

// A second implementation: the parts of all batches are a stream. Worker w of W takes the parts
// with numbers w, w + W, w + 2 * W and further, and deals the parts of each batch to its replicas.
std::optional<Steps> expected_steps(const SplitCase& one) {
  Steps steps;
  for (int begin = 0; begin < one.rows; begin += one.batch) {
    Ints rows(static_cast<std::size_t>(std::min(one.batch, one.rows - begin)));
    std::iota(rows.begin(), rows.end(), begin);
    const bool is_last = begin + one.batch >= one.rows;
    const std::vector<Ints> parts = parts_of(rows, one.workers * one.replicas);
    Shares shares;
    for (std::size_t number = 0; number < parts.size(); ++number) {
      if (static_cast<int>(number) % one.workers == one.worker) shares.emplace_back(parts[number]);
    }
    if (one.policy == EndOfData::kDropPartialStep && parts.back().empty()) {
      return is_last && one.rows % one.batch != 0 ? std::optional(steps) : std::nullopt;
    }
    if (one.policy == EndOfData::kMaskReplicas) {
      for (std::optional<Ints>& share : shares) {
        if (share->empty()) share.reset();
      }
      if (std::ranges::none_of(shares, [](const auto& share) { return share.has_value(); })) {
        return is_last && one.rows % one.batch != 0 ? std::optional(steps) : std::nullopt;
      }
    }
    steps.push_back(std::move(shares));
  }
  return steps;
}

TEST(BatchSplits, MatchTheSecondImplementation) {
  for (int replicas = 1; replicas <= 4; ++replicas) {
    HostBackend backend(replicas);
    MirroredStrategy strategy(backend);
    for (int number = 0; number < 4 * 14 * 14; ++number) {
      const int batch = 1 + number / 4 % 14;
      SplitCase one{.rows = 2 * batch + number / 56 % batch,
                    .batch = batch,
                    .replicas = replicas,
                    .workers = 1 + number % 4};
      for (one.worker = 0; one.worker < one.workers; ++one.worker) {
        for (const EndOfData policy : kPolicies) {
          one.policy = policy;
          ASSERT_EQ(steps_of(strategy, one), expected_steps(one)) << one;
        }
      }
    }
  }
}

// Batches of unknown size are cut alike with either value of the option.
TEST(BatchSplits, NeedNoSize) {
  HostBackend backend(3);
  MirroredStrategy strategy(backend);
  const auto batches = Dataset<Ints>::from({{1, 2, 3, 4, 5, 6, 7}, {8, 9}, {}, {10}});
  DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties};
  const auto even = steps_of(strategy, batches, options);
  options.split = BatchSplit::kEachBatch;
  EXPECT_EQ(steps_of(strategy, batches, options), even);
  // Two rows are not enough for three replicas, and a batch follows.
  options.end_of_data = EndOfData::kDropPartialStep;
  EXPECT_EQ(steps_of(strategy, batches, options), std::nullopt);
  // The batch of a single row has none for worker 1, and a further batch follows.
  const auto uneven = Dataset<Ints>::from({{1, 2, 3, 4, 5, 6}, {7}, {8, 9, 10, 11, 12, 13}});
  options = {.end_of_data = EndOfData::kMaskReplicas,
             .num_workers = 2,
             .worker = 1,
             .split = BatchSplit::kEachBatch};
  const auto read = [&] {
    for (const auto& step : strategy.distribute_dataset(uneven, options)) EXPECT_TRUE(step.has(0));
  };
  EXPECT_EQ(report_of(read).summary,
            "a batch of 1 leaves worker 1 without examples, and it is not the last one");
}

void expect_refused(const DistributeOptions& options, const char* summary) {
  HostBackend backend(4);
  MirroredStrategy strategy(backend);
  const ErrorReport report =
      report_of([&] { strategy.distribute_dataset(Dataset<int>::range(10).batch(5), options); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(report.summary, summary);
  EXPECT_THAT(to_string(report.site), HasSubstr("batch_split_test.cpp:"));
  EXPECT_FALSE(report.hint.empty());
}

TEST(BatchSplits, AreRefusedWhereTheyCannotBe) {
  testing::asserts("SEM-142");
  DistributeOptions options{.end_of_data = EndOfData::kDropPartialStep,
                            .split = BatchSplit::kEachBatch};
  expect_refused(options,
                 "global batches of 5 in parts of 2 leave some of 4 replicas without examples");
  options.end_of_data = EndOfData::kMaskReplicas;
  options.num_workers = 6;
  options.worker = 5;
  expect_refused(options, "global batches of 5 in parts of 1 leave worker 5 without examples");
  options = {.end_of_data = EndOfData::kMaskReplicas, .split = static_cast<BatchSplit>(2)};
  expect_refused(options, "split(2) is no way to split batches");
  options.split = BatchSplit::kEachBatch;
  options.elements = ElementUse::kPerReplica;
  expect_refused(options, "elements that replicas take whole cannot be split by each batch");
}

TEST(BatchSplits, AreNotForInputFunctions) {
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  int calls = 0;
  const auto input = [&](const InputContext&) {
    ++calls;
    return Dataset<int>::range(4);
  };
  EXPECT_THROW(
      strategy.distribute_datasets_from_function(
          input, {.end_of_data = EndOfData::kMaskReplicas, .split = BatchSplit::kEachBatch}),
      InvalidArgumentError);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace belfry::batch_split_test
