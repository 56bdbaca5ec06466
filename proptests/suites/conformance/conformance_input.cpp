// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about input. Elements are tensors in rows about devices. Workers are separate
// strategies, executed one after another: belfry has no network over which workers agree.
#include "belfry/files/npy.h"
#include "belfry/testing/code_of.h"
#include "suites/property.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing::conformance_input {
namespace {

using ::testing::ElementsAre;

using Ints = std::vector<int>;
using Batches = std::vector<Ints>;  // Of a step, for each replica with a batch.

constexpr DistributeOptions kDrop{.end_of_data = EndOfData::kDropPartialStep};
constexpr DistributeOptions kPad{.end_of_data = EndOfData::kPadWithEmpties};
constexpr DistributeOptions kDropElements{.end_of_data = EndOfData::kDropPartialStep,
                                          .elements = ElementUse::kPerReplica};
constexpr DistributeOptions kPadElements{.end_of_data = EndOfData::kPadWithEmpties,
                                         .elements = ElementUse::kPerReplica};

Dataset<int> range(int count) { return Dataset<int>::range(count); }

// The numbers as tensors of one element.
Dataset<Tensor<int>> tensors(int count) {
  return range(count).map([](int i) { return Tensor<int>::full({}, i); });
}

// A strategy over `devices` devices of a backend of this binary's factory.
class StrategyFixture {
 public:
  explicit StrategyFixture(int count)
      : backend_(backend_factory().make(devices(count))), strategy_(*backend_) {}
  Strategy& strategy() { return strategy_; }

  /// The elements of all replicas in each step. Tensors are read on their own devices.
  template <class B>
  std::vector<Batches> steps(const Dataset<B>& dataset, const DistributeOptions& options) {
    return steps_of(strategy_.distribute_dataset(dataset, options));
  }
  template <class B>
  std::vector<Batches> steps_of(const DistributedDataset<B>& distributed) {
    std::vector<Batches> steps;
    for (const PerReplica<B>& step : distributed) {
      const auto seen = strategy_.run(
          [](ReplicaContext& replica, const B& share) { return numbers_of(replica, share); }, step);
      steps.emplace_back(seen.begin(), seen.end());
    }
    return steps;
  }

 private:
  static Ints numbers_of(ReplicaContext&, int number) { return {number}; }
  static Ints numbers_of(ReplicaContext&, const Ints& numbers) { return numbers; }
  static Ints numbers_of(ReplicaContext& replica, const Tensor<int>& tensor) {
    EXPECT_EQ(tensor.placement(), replica.placement());
    return tensor.to_host();
  }

  std::unique_ptr<Backend> backend_;
  MirroredStrategy strategy_;
};

Batches ones(const Ints& numbers) {
  Batches batches;
  batches.reserve(numbers.size());
  for (const int number : numbers) batches.push_back({number});
  return batches;
}

TEST(Conformance, T01_OneDeviceSeesElementAfterElement) {
  const auto steps = StrategyFixture(1).steps(tensors(10), kDropElements);
  ASSERT_EQ(steps.size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(steps[static_cast<std::size_t>(i)], ones({i}));
}

TEST(Conformance, T02_AnUnevenLastStepIsPadded) {
  EXPECT_THAT(StrategyFixture(2).steps(tensors(9).batch(2), kPadElements),
              ElementsAre(Batches{{0, 1}, {2, 3}}, Batches{{4, 5}, {6, 7}}, Batches{{8}, {}}));
}

TEST(Conformance, T03_OrItIsDropped) {
  EXPECT_THAT(StrategyFixture(2).steps(tensors(9).batch(2), kDropElements),
              ElementsAre(Batches{{0, 1}, {2, 3}}, Batches{{4, 5}, {6, 7}}));
  EXPECT_THAT(StrategyFixture(2).steps(tensors(9).batch(2, Remainder::kDrop), kPadElements),
              ElementsAre(Batches{{0, 1}, {2, 3}}, Batches{{4, 5}, {6, 7}}));
}

Ints from_to(int begin, int end) {
  Ints numbers;
  for (int i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

TEST(Conformance, T04_AGlobalBatchIsSplit) {
  const auto steps = StrategyFixture(2).steps(tensors(100).batch(10), kDrop);
  ASSERT_EQ(steps.size(), 10U);
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(steps[static_cast<std::size_t>(k)],
              (Batches{from_to(10 * k, 10 * k + 5), from_to(10 * k + 5, 10 * k + 10)}));
  }
}

TEST(Conformance, T05_WithoutASplitEveryReplicaTakesABatch) {
  const auto steps = StrategyFixture(2).steps(tensors(100).batch(10), kDropElements);
  ASSERT_EQ(steps.size(), 5U);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(steps[static_cast<std::size_t>(k)],
              (Batches{from_to(20 * k, 20 * k + 10), from_to(20 * k + 10, 20 * k + 20)}));
  }
}

TEST(Conformance, T06_RowsMayHaveDifferentLengths) {
  // Row i is i % 4 times the number i.
  const auto rows = range(20).map([](int i) { return Ints(static_cast<std::size_t>(i % 4), i); });
  const auto total = [](const Dataset<std::vector<Ints>>& dataset) {
    StrategyFixture fixture(2);
    int sum = 0;
    for (const auto& step : fixture.strategy().distribute_dataset(dataset, kPad)) {
      for (const std::vector<Ints>& share : step) {
        for (const Ints& row : share) {
          for (const int number : row) sum += number;
        }
      }
    }
    return sum;
  };
  StrategyFixture fixture(2);
  const auto distributed = fixture.strategy().distribute_dataset(rows.batch(8), kPad);
  const auto first = distributed.begin();
  EXPECT_THAT((*first)[0], ElementsAre(Ints{}, Ints{1}, Ints{2, 2}, Ints{3, 3, 3}));
  EXPECT_THAT((*first)[1], ElementsAre(Ints{}, Ints{5}, Ints{6, 6}, Ints{7, 7, 7}));
  EXPECT_EQ(total(rows.batch(8)), 310);
  EXPECT_EQ(total(rows.batch(8, Remainder::kDrop)), 200);
}

// The elements that `count` workers with `devices` devices see of `part(worker)`.
template <class Part>
std::vector<std::vector<Batches>> on_workers(int count, int devices, const Part& part,
                                             const DistributeOptions& options) {
  std::vector<std::vector<Batches>> workers;
  workers.reserve(static_cast<std::size_t>(count));
  for (int worker = 0; worker < count; ++worker) {
    workers.push_back(StrategyFixture(devices).steps(part(worker), options));
  }
  return workers;
}

using Steps = std::vector<Batches>;

TEST(Conformance, T08_NotShardedEveryWorkerSeesEverything) {
  const auto part = [](int) { return tensors(4); };
  const Steps all{ones({0}), ones({1}), ones({2}), ones({3})};
  EXPECT_THAT(on_workers(2, 1, part, kDropElements), ElementsAre(all, all));
}

// The elements that a worker sees of an input function.
template <class F>
Steps from_function(int devices, const F& fn, DistributeOptions options) {
  StrategyFixture fixture(devices);
  return fixture.steps_of(fixture.strategy().distribute_datasets_from_function(fn, options));
}

TEST(Conformance, T09_AnInputFunctionFeedsEachWorker) {
  const auto fn = [](const InputContext&) { return tensors(4); };
  const Steps all{ones({0}), ones({1}), ones({2}), ones({3})};
  for (const int worker : {0, 1}) {
    DistributeOptions options = kDrop;
    options.num_workers = 2;
    options.worker = worker;
    EXPECT_EQ(from_function(1, fn, options), all);
  }
}

TEST(Conformance, T11_AnInputFunctionIsNotSharded) {
  const auto fn = [](const InputContext&) { return tensors(4); };
  EXPECT_THAT(from_function(2, fn, kDrop), ElementsAre(ones({0, 1}), ones({2, 3})));
}

TEST(Conformance, T15_NotShardedEveryWorkerSeesEveryBatch) {
  const auto part = [](int) { return tensors(5).batch(2); };
  const Steps all{Batches{{0, 1}}, Batches{{2, 3}}, Batches{{4}}};
  EXPECT_THAT(on_workers(2, 1, part, kPadElements), ElementsAre(all, all));
}

TEST(Conformance, T17_WithoutPartialStepsTheLastBatchIsLost) {
  EXPECT_THAT(StrategyFixture(2).steps(tensors(6).batch(2), kDropElements),
              ElementsAre(Batches{{0, 1}, {2, 3}}));
}

// Overridden: the strategy makes the input contexts, and their number cannot be wrong. A worker's
// number can.
TEST(Conformance, T19_ThereIsNoInputForAWorkerThatIsNot) {
  DistributeOptions options = kDrop;
  options.worker = 1;
  StrategyFixture fixture(1);
  EXPECT_THROW(fixture.strategy().distribute_dataset(range(4).batch(2), options),
               InvalidArgumentError);
}

// Rebatching: the rows of all batches in order, with repeated sizes. A single replica sees the
// batches unchanged.

Steps rebatched(int count, const std::vector<std::int64_t>& sizes,
                Remainder remainder = Remainder::kKeep) {
  return StrategyFixture(1).steps(tensors(count).batch(4).rebatch(sizes, remainder), kDropElements);
}

Steps one_each(const std::vector<Ints>& batches) {
  Steps steps;
  for (const Ints& batch : batches) steps.push_back({batch});
  return steps;
}

TEST(Conformance, B08_FoursBecomeTwos) {
  EXPECT_EQ(rebatched(8, {2, 2}), one_each({{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Conformance, B09_TheLastBatchHasWhatIsLeft) {
  EXPECT_EQ(rebatched(5, {2, 2}), one_each({{0, 1}, {2, 3}, {4}}));
}

TEST(Conformance, B10_TheRemainderCanBeDropped) {
  EXPECT_EQ(rebatched(5, {2, 2}, Remainder::kDrop), one_each({{0, 1}, {2, 3}}));
}

TEST(Conformance, B14_SizesOfZeroGiveEmptyBatches) {
  EXPECT_EQ(rebatched(8, {1, 0}),
            one_each({{0}, {}, {1}, {}, {2}, {}, {3}, {}, {4}, {}, {5}, {}, {6}, {}, {7}, {}}));
}

TEST(Conformance, B15_OneSizeWillDo) {
  EXPECT_EQ(rebatched(8, {2}), one_each({{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

// A replica sees two rows of two.
TEST(Conformance, B16_BatchesOfBatchesAreSplitOnTheOutside) {
  StrategyFixture fixture(1);
  std::vector<Ints> seen;
  for (const auto& step : fixture.strategy().distribute_dataset(
           tensors(16).batch(2).batch(4).rebatch({2, 2}), kDropElements)) {
    const auto shares = fixture.strategy().run(
        [](ReplicaContext& replica, const Tensor<int>& share) {
          EXPECT_EQ(share.placement(), replica.placement());
          EXPECT_EQ(share.shape(), Shape({2, 2}));
          return share.to_host();
        },
        step);
    seen.push_back(shares[0]);
  }
  EXPECT_THAT(seen, ElementsAre(Ints{0, 1, 2, 3}, Ints{4, 5, 6, 7}, Ints{8, 9, 10, 11},
                                Ints{12, 13, 14, 15}));
}

TEST(Conformance, B18_ABatchOfUnknownSizeIsCutIntoEqualParts) {
  const auto unknown = Dataset<Ints>::from({{0, 1, 2, 3}, {4, 5, 6, 7}});
  const Steps expected{Batches{{0, 1}, {2, 3}, {}}, Batches{{4, 5}, {6, 7}, {}}};
  EXPECT_EQ(StrategyFixture(3).steps(unknown, kPad), expected);
  DistributeOptions each = kPad;
  each.split = BatchSplit::kEachBatch;
  EXPECT_EQ(StrategyFixture(3).steps(range(8).batch(4), each), expected);
}

TEST(Conformance, B20_ADatasetWithoutBatchesCannotBeSplit) {
  StrategyFixture fixture(2);
  try {
    fixture.strategy().distribute_dataset(range(4), kDrop);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(error.report().hint.find("call batch(n) first"), std::string::npos);
  }
}

TEST(Conformance, DS_01_OneDeviceThenTheEnd) {
  EXPECT_THAT(StrategyFixture(1).steps(tensors(10), kDropElements),
              ElementsAre(ones({0}), ones({1}), ones({2}), ones({3}), ones({4}), ones({5}),
                          ones({6}), ones({7}), ones({8}), ones({9})));
}

TEST(Conformance, DS_02_TwoDevicesTakeTurns) {
  EXPECT_THAT(StrategyFixture(2).steps(tensors(10), kDropElements),
              ElementsAre(ones({0, 1}), ones({2, 3}), ones({4, 5}), ones({6, 7}), ones({8, 9})));
}

// Overridden: a strategy knows its own machine, and does not shard. The caller shards the data of
// each worker.
TEST(Conformance, DS_04_WorkersTakeTurnsAndAgainWhenReadAgain) {
  for (const int worker : {0, 1}) {
    StrategyFixture fixture(1);
    const auto distributed =
        fixture.strategy().distribute_dataset(tensors(8).shard(2, worker), kDropElements);
    const Steps expected{ones({worker}), ones({2 + worker}), ones({4 + worker}),
                         ones({6 + worker})};
    EXPECT_EQ(fixture.steps_of(distributed), expected);
    EXPECT_EQ(fixture.steps_of(distributed), expected);
  }
}

// Overridden: iterators and devices are not named separately, and cannot disagree. Values and a
// strategy can.
TEST(Conformance, DS_05_ADeviceIsNamedOnce) {
  const auto backend = backend_factory().make(devices(2));
  const DeviceSpec device = backend->device_spec(0);
  try {
    const MirroredStrategy strategy(*backend, {.devices = {device, device}});
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDuplicateDevice);
  }
  StrategyFixture two(2);
  StrategyFixture three(3);
  const auto steps = two.strategy().distribute_dataset(tensors(4), kDropElements);
  const PerReplica<Tensor<int>> step = *steps.begin();
  try {
    three.strategy().run([](ReplicaContext&, const Tensor<int>&) {}, step);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Conformance, DS_06_AnOddLastElementIsDropped) {
  EXPECT_THAT(StrategyFixture(2).steps(tensors(5), kDropElements),
              ElementsAre(ones({0, 1}), ones({2, 3})));
}

// Overridden: rows are shared by even sizes, as without automatic sharding, unless the program asks
// for parts of each batch, the default of the reference for data in memory.
TEST(Conformance, DS_07_AShortLastBatchIsHalvedIfEachBatchIsCut) {
  const Dataset<Tensor<int>> batches = tensors(14).batch(8);
  const auto second_step = [&](int replicas, DistributeOptions options, BatchSplit split) {
    options.split = split;
    return StrategyFixture(replicas).steps(batches, options).at(1);
  };
  DistributeOptions options = kPad;
  EXPECT_THAT(second_step(2, options, BatchSplit::kEachBatch),
              ElementsAre(Ints{8, 9, 10}, Ints{11, 12, 13}));
  EXPECT_THAT(second_step(2, options, BatchSplit::kEvenSizes),
              ElementsAre(Ints{8, 9, 10, 11}, Ints{12, 13}));
  // Two workers with a single replica each, as in the reference.
  options.num_workers = 2;
  EXPECT_THAT(second_step(1, options, BatchSplit::kEachBatch), ElementsAre(Ints{8, 9, 10}));
  options.worker = 1;
  EXPECT_THAT(second_step(1, options, BatchSplit::kEachBatch), ElementsAre(Ints{11, 12, 13}));
}

TEST(Conformance, DS_08_AShortLastBatchOfAFunctionIsOneReplicas) {
  // Per-replica batches of 4, of a dataset that both replicas share.
  const auto fn = [](const InputContext& context) {
    return tensors(14).batch(context.get_per_replica_batch_size(8));
  };
  const auto steps = from_function(2, fn, kPad);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_THAT(steps[1], ElementsAre(Ints{8, 9, 10, 11}, Ints{12, 13}));
}

// Overridden: an empty list means all devices, and no second number can contradict the list. A list
// of devices must not be empty if the list is required.
TEST(Conformance, DEV_09_DevicesAreNamedOnceAndThereAreSome) {
  const auto backend = backend_factory().make(devices(2));
  const DeviceSpec first = backend->device_spec(0);
  EXPECT_EQ(code_of([&] { MirroredStrategy(*backend, {.devices = {first, first}}); }),
            ErrorCode::kDuplicateDevice);
  MirroredStrategy all(*backend, {.devices = {}});
  EXPECT_EQ(all.cross_replica().devices(),
            (std::vector<DeviceSpec>{first, backend->device_spec(1)}));
  const auto ids = all.run([](ReplicaContext& replica) {
    return replica.all_gather(Tensor<int>::full({1}, replica.replica_id())).to_host();
  });
  EXPECT_THAT(ids, ElementsAre(Ints{0, 1}, Ints{0, 1}));
  EXPECT_EQ(
      code_of([&] { const auto scope = all.colocate_variables_with(std::vector<DeviceSpec>{}); }),
      ErrorCode::kNoDevices);
}

using Bytes = std::vector<std::uint8_t>;

// An array of bytes, read from a file: byte i is 31 i modulo 256.
HostArray array_of(const std::string& shape, std::size_t count) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  std::string period;
  for (int i = 0; i < 256; ++i) period += static_cast<char>(i * 31);
  for (std::size_t left = count; left > 0; left -= std::min(left, period.size())) {
    file.append(period, 0, left);
  }
  return parse_npy(std::as_bytes(std::span(file)), "x.npy");
}

// Two replicas get an array in a single step, half of the array each, as tensors on their devices.
void expect_halves(const Dataset<Bytes>& dataset, const DistributeOptions& options,
                   const HostArray& array) {
  StrategyFixture fixture(2);
  const auto tensors = dataset.map([](const Bytes& bytes) {
    return Tensor<std::uint8_t>::from({static_cast<std::int64_t>(bytes.size())}, bytes);
  });
  std::vector<Bytes> halves;
  for (const auto& step : fixture.strategy().distribute_dataset(tensors, options)) {
    const auto seen = fixture.strategy().run(
        [](ReplicaContext& replica, const Tensor<std::uint8_t>& share) {
          EXPECT_EQ(share.placement(), replica.placement());
          return share.to_host();
        },
        step);
    halves.insert(halves.end(), seen.begin(), seen.end());
  }
  ASSERT_EQ(halves.size(), 2U);
  const std::size_t half = array.bytes().size() / 2;
  for (const std::size_t id : {0U, 1U}) {
    ASSERT_EQ(halves[id].size(), half);
    EXPECT_EQ(std::memcmp(halves[id].data(), array.bytes().data() + id * half, half), 0);
  }
}

// TensorFlow cuts arrays into slices of 2^26 bytes; belfry cuts none, and no length is special. An
// array of 2^22 bytes and a few has two elements, a shorter one an element for each byte. The
// second halves begin within a period.
TEST(Conformance, T21_LargeArraysArriveWhole) {
  constexpr std::size_t kHalf = (std::size_t{1} << 21) + 3;
  const HostArray rows = array_of("(2, " + std::to_string(kHalf) + ")", 2 * kHalf);
  ASSERT_EQ(rows.bytes().size(), 2 * kHalf);
  expect_halves(rows.rows<std::uint8_t>(), kPadElements, rows);
  constexpr std::int64_t kFew = (std::int64_t{1} << 16) + 6;
  const HostArray flat =
      array_of("(" + std::to_string(kFew) + ",)", static_cast<std::size_t>(kFew));
  expect_halves(flat.elements<std::uint8_t>().batch(kFew), kPad, flat);
}

TEST(Conformance, CTX_22_InputBelongsToTheCurrentStrategy) {
  DefaultStrategy strategy;
  const auto fn = [](const InputContext&) { return Dataset<double>::from({1.0}); };
  const auto collected = [&] {
    std::vector<double> outputs;
    for (const auto& step : strategy.distribute_datasets_from_function(fn, kDrop)) {
      const auto seen = strategy.run([](ReplicaContext&, double x) { return x; }, step);
      outputs.insert(outputs.end(), seen.begin(), seen.end());
    }
    return outputs;
  };
  const auto total_of_ones = [&] {
    double total = 0;
    const auto array = Dataset<double>::from(std::vector<double>(10, 1.0));
    for (const auto& step : strategy.distribute_dataset(array, kDropElements)) total += step[0];
    return total;
  };
  EXPECT_THAT(collected(), ElementsAre(1.0));
  EXPECT_EQ(total_of_ones(), 10.0);
  {
    const Scope scope = strategy.scope();
    EXPECT_THAT(collected(), ElementsAre(1.0));
    EXPECT_EQ(total_of_ones(), 10.0);
  }
  StrategyFixture other(1);
  const Scope scope = other.strategy().scope();
  EXPECT_THROW(collected(), ContextError);
  EXPECT_THROW(total_of_ones(), ContextError);
}

}  // namespace
}  // namespace belfry::testing::conformance_input
