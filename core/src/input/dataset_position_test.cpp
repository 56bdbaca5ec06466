// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Positions in distributed datasets, example by example.
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/distributed_dataset.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry::dataset_position_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Ints = std::vector<int>;
using Steps = std::vector<Ints>;
constexpr DistributeOptions kMask{.end_of_data = EndOfData::kMaskReplicas};
constexpr DistributeOptions kPad{.end_of_data = EndOfData::kPadWithEmpties};
constexpr DistributeOptions kWhole{.end_of_data = EndOfData::kMaskReplicas,
                                   .elements = ElementUse::kPerReplica};

Dataset<Ints> batches(int rows, int batch) { return Dataset<int>::range(rows).batch(batch); }

class DatasetPositions : public ::testing::Test {
 protected:
  // The shares of a loop, or of the first steps.
  static Steps shares(const DistributedDataset<Ints>& data, int steps = 1000) {
    Steps all;
    for (const PerReplica<Ints>& step : data) {
      all.insert(all.end(), step.begin(), step.end());
      if (--steps == 0) break;
    }
    return all;
  }
  // The contents of a save after the first steps of a loop.
  TensorFile after(int steps, const Dataset<Ints>& dataset, const DistributeOptions& options) {
    const auto data = two_.distribute_dataset(dataset, options);
    shares(data, steps);
    return Checkpoint(two_).add("data", data).contents();
  }
  // The shares of the loop after the restore, in a strategy with three replicas.
  Steps rest(const TensorFile& file, const Dataset<Ints>& dataset,
             const DistributeOptions& options) {
    const auto data = three_.distribute_dataset(dataset, options);
    Checkpoint(three_).add("data", data).restore(file);
    return shares(data);
  }

  HostBackend two_devices_{2};
  HostBackend three_devices_{3};
  MirroredStrategy two_{two_devices_};
  MirroredStrategy three_{three_devices_};
};

TEST_F(DatasetPositions, CountWhatIsHandedOutAndNotWhatIsReadAhead) {
  testing::asserts("SEM-255");
  DistributeOptions options = kPad;
  options.prefetch = 2;
  const TensorFile file = after(1, batches(10, 4), options);
  EXPECT_THAT(rest(file, batches(10, 4), options),
              ElementsAre(Ints{4, 5}, Ints{6}, Ints{7}, Ints{8, 9}, Ints{}, Ints{}));
}

TEST_F(DatasetPositions, AreAtTheStartBeforeALoopAndAfterItsEnd) {
  testing::asserts("SEM-255");
  const auto data = two_.distribute_dataset(batches(4, 2), kMask);
  Checkpoint checkpoint(two_);
  checkpoint.add("data", data);
  const TensorFile start = checkpoint.contents();
  std::vector<TensorFile> inside;
  for ([[maybe_unused]] const auto& step : data) inside.push_back(checkpoint.contents());
  EXPECT_EQ(checkpoint.contents(), start);
  ASSERT_EQ(inside.size(), 2U);
  // In the last step all rows are handed out: the loop after the restore ends at once.
  EXPECT_THAT(rest(inside[1], batches(4, 2), kMask), IsEmpty());
  EXPECT_THAT(rest(start, batches(4, 2), kMask), ElementsAre(Ints{0}, Ints{1}, Ints{2}, Ints{3}));
}

TEST_F(DatasetPositions, HoldForOneLoopAndForASaveBeforeTheLoop) {
  testing::asserts("SEM-255");
  const TensorFile file = after(1, batches(5, 2), kMask);
  const auto data = three_.distribute_dataset(batches(5, 3), kMask);
  Checkpoint checkpoint(three_);
  checkpoint.add("data", data).restore(file);
  EXPECT_EQ(rest(checkpoint.contents(), batches(5, 3), kMask), shares(data));
  EXPECT_THAT(shares(data), ElementsAre(Ints{0}, Ints{1}, Ints{2}, Ints{3}, Ints{4}));
}

TEST_F(DatasetPositions, BelongToTheLoopThatBeganLast) {
  testing::asserts("SEM-255");
  const auto data = two_.distribute_dataset(batches(8, 2), kMask);
  Checkpoint checkpoint(two_);
  checkpoint.add("data", data);
  auto outer = data.begin();
  ++outer;
  auto inner = data.begin();
  ++outer;
  EXPECT_THAT(rest(checkpoint.contents(), batches(8, 6), kMask),
              ElementsAre(Ints{2, 3}, Ints{4, 5}, Ints{6, 7}));
  // The inner loop goes on after a restore.
  const TensorFile file = checkpoint.contents();
  ++inner;
  checkpoint.restore(file);
  ++inner;
  EXPECT_EQ((*inner)[0], Ints{4});
  EXPECT_EQ(checkpoint.contents(), file);
}

// The loop before the transaction still counts.
TEST_F(DatasetPositions, AreGivenBackByATransaction) {
  testing::asserts("SEM-255", "SEM-59");
  const TensorFile file = after(3, batches(8, 2), kMask);
  const auto data = two_.distribute_dataset(batches(8, 2), kMask);
  Checkpoint checkpoint(two_);
  checkpoint.add("data", data);
  auto outer = data.begin();
  const TensorFile first = checkpoint.contents();
  const auto fail = [&](bool restores) {
    const auto changes = [&] {
      if (restores) checkpoint.restore(file);
      shares(data, restores ? 1 : 2);
      throw std::runtime_error("on purpose");
    };
    EXPECT_THROW(two_.transaction(changes), std::runtime_error);
  };
  fail(true);
  EXPECT_EQ(checkpoint.contents(), first);
  ++outer;
  fail(false);
  ++outer;
  EXPECT_EQ(checkpoint.contents(), file);
  // The restore before a failed transaction still decides on the next loop.
  checkpoint.restore(first);
  fail(false);
  EXPECT_THAT(shares(data, 1), ElementsAre(Ints{2}, Ints{3}));
  two_.transaction([&] { checkpoint.restore(file); });
  EXPECT_EQ(checkpoint.contents(), file);
}

TEST_F(DatasetPositions, StayWhereReadingFailed) {
  testing::asserts("SEM-255");
  bool fails = true;
  const auto dataset = Dataset<int>::range(6)
                           .map([&](int i) {
                             if (i == 3 && fails) throw std::runtime_error("no file");
                             return i;
                           })
                           .batch(2);
  const auto data = two_.distribute_dataset(dataset, kMask);
  Checkpoint checkpoint(two_);
  checkpoint.add("data", data);
  EXPECT_THROW(shares(data), std::runtime_error);
  checkpoint.restore(checkpoint.contents());
  EXPECT_THROW(shares(data), std::runtime_error);
  fails = false;
  EXPECT_THAT(shares(data), ElementsAre(Ints{2}, Ints{3}, Ints{4}, Ints{5}));
}

// Elements without rows are counted, if the calls are the same.
TEST_F(DatasetPositions, CountElementsThatReplicasTakeWhole) {
  testing::asserts("SEM-256");
  const auto elements = batches(6, 2).rebatch({2, 0, 0});
  const TensorFile file = after(1, elements, kWhole);  // [0 1] [].
  EXPECT_THAT(rest(file, elements, kWhole),
              ElementsAre(Ints{}, Ints{2, 3}, Ints{}, Ints{}, Ints{4, 5}, Ints{}, Ints{}));
  // After other calls rows are counted: the element [0 1 2] has a row left.
  EXPECT_THAT(rest(file, batches(6, 2).rebatch({3}), kWhole), ElementsAre(Ints{2}, Ints{3, 4, 5}));
}

TEST_F(DatasetPositions, CountElementsThatAreNoBatches) {
  testing::asserts("SEM-256");
  const auto words = Dataset<std::string>::from({"a", "b", "c", "d"});
  const auto data = two_.distribute_dataset(words, kWhole);
  data.begin();
  const TensorFile file = Checkpoint(two_).add("data", data).contents();
  const auto others = three_.distribute_dataset(words, kWhole);
  Checkpoint(three_).add("data", others).restore(file);
  std::vector<std::string> rest;
  for (const auto& step : others) rest.insert(rest.end(), step.begin(), step.end());
  EXPECT_THAT(rest, ElementsAre("c", "d"));
}

// A pair of a batch and a number has no rows.
TEST_F(DatasetPositions, CountElementsWithoutRows) {
  testing::asserts("SEM-256");
  using Weighted = std::pair<Ints, Tensor<float>>;
  const auto weighted = batches(6, 2).map(
      [](const Ints& batch) { return Weighted(batch, Tensor<float>::full({}, 1)); });
  const auto data = two_.distribute_dataset(weighted, kWhole);
  data.begin();
  const TensorFile file = Checkpoint(two_).add("data", data).contents();
  const auto others = three_.distribute_dataset(weighted, kWhole);
  Checkpoint(three_).add("data", others).restore(file);
  auto step = others.begin();
  EXPECT_EQ((*step)[0].first, (Ints{4, 5}));
}

TEST_F(DatasetPositions, AreFourNumbersAndTheCallsInTheFile) {
  testing::asserts("SEM-257");
  const TensorFile file = after(2, batches(9, 3), kMask);
  const FileTensor& saved = file.tensors.at("data");
  EXPECT_EQ(to_string(saved), "int64[4]");
  EXPECT_EQ(saved.bytes[0], std::byte{6});  // Rows.
  EXPECT_EQ(saved.bytes[8], std::byte{0});  // Elements: not counted.
  EXPECT_EQ(file.notes.at("data"), "range(9).batch(3)");
  EXPECT_EQ(TensorFile::parse(file.contents(), "memory"), file);
}

TEST_F(DatasetPositions, OfOtherDataAreListed) {
  testing::asserts("SEM-257");
  const auto shuffled = [](std::uint64_t seed) {
    return Dataset<int>::range(6).shuffle(seed).batch(2);
  };
  const auto one = two_.distribute_dataset(shuffled(7), kMask);
  const auto two = two_.distribute_dataset(batches(6, 2).take(2), kMask);
  const TensorFile file = Checkpoint(two_).add("one", one).add("two", two).contents();

  const auto other = three_.distribute_dataset(shuffled(8), kMask);
  const auto larger = three_.distribute_dataset(batches(6, 3).take(2), kMask);
  Checkpoint both(three_);
  both.add("one", other).add("two", larger);
  const ErrorReport report = report_of([&] { both.restore(file); });
  EXPECT_EQ(report.code, ErrorCode::kVariableMismatch);
  EXPECT_THAT(report.summary,
              AllOf(HasSubstr("2 arrays of the file do not fit"),
                    HasSubstr("\"one\" is a position in range(6).shuffle(7).batch(2) in the file; "
                              "expected a position in range(6).shuffle(8).batch(2), of the "
                              "distributed dataset made at "),
                    HasSubstr("\"two\" is a position in range(6).batch(2).take(2) in the file")));
  EXPECT_THAT(shares(larger), ElementsAre(Ints{0}, Ints{1}, Ints{2}, Ints{3}, Ints{4}, Ints{5}));
}

TEST_F(DatasetPositions, OfAnArrayThatIsNoneAreRefused) {
  testing::asserts("SEM-257");
  const auto data = two_.distribute_dataset(batches(6, 2), kMask);
  Checkpoint checkpoint(two_);
  checkpoint.add("data", data);
  TensorFile file = checkpoint.contents();
  for (int at = 0; at < 8; ++at) file.tensors.at("data").bytes[at] = std::byte{0xff};  // -1 rows.
  EXPECT_THAT(report_of([&] { checkpoint.restore(file); }).summary,
              HasSubstr("\"data\" is no position in the file"));
  // Further rows begin behind a gap.
  for (const std::byte begin : {std::byte{3}, std::byte{9}}) {
    file.tensors.at("data") = {DType::kInt64, Shape({6}), std::vector<std::byte>(48)};
    file.tensors.at("data").bytes[0] = std::byte{3};
    file.tensors.at("data").bytes[32] = begin;
    file.tensors.at("data").bytes[40] = std::byte{5};
    EXPECT_THAT(report_of([&] { checkpoint.restore(file); }).summary,
                HasSubstr("\"data\" is no position in the file"));
  }
  file.tensors.at("data") = {DType::kFloat32, Shape({4}), std::vector<std::byte>(16)};
  EXPECT_EQ(report_of([&] { checkpoint.restore(file); }).expected, "int64[4]");
  file.tensors.clear();
  const ErrorReport report = report_of([&] { checkpoint.restore(file); });
  EXPECT_EQ(report.summary, "the file has no \"data\"");
  EXPECT_THAT(report.hint, HasSubstr("the distributed dataset was made at "));
}

TEST_F(DatasetPositions, OfFunctionsNeedANameOfTheElements) {
  testing::asserts("SEM-258");
  const auto numbers = Dataset<int>::from_generator([] {
    return [next = 0]() mutable { return next < 6 ? std::optional(next++) : std::nullopt; };
  });
  const auto data = two_.distribute_dataset(numbers.batch(2), kMask);
  const ErrorReport report = report_of([&] { Checkpoint(two_).add("data", data); });
  EXPECT_EQ(report.code, ErrorCode::kUnsupported);
  EXPECT_THAT(report.summary, HasSubstr("from_generator(unseen).batch(2) reads the same elements"));
  EXPECT_THAT(report.hint, HasSubstr(".named("));
  const auto input = two_.distribute_datasets_from_function(
      [](const InputContext&) { return [] { return std::optional(Ints{1}); }; }, kMask);
  EXPECT_EQ(report_of([&] { Checkpoint(two_).add("data", input); }).code, ErrorCode::kUnsupported);

  const auto named = numbers.named("six").batch(2);
  EXPECT_THAT(rest(after(1, named, kMask), named, kMask),
              ElementsAre(Ints{2}, Ints{3}, Ints{4}, Ints{5}));
}

// A worker without a group counts the rows of the own part: 1, 4, 7 and 10.
TEST_F(DatasetPositions, OfAWorkerAreThoseOfItsPart) {
  testing::asserts("SEM-291");
  DistributeOptions options = kMask;
  options.num_workers = 3;
  options.worker = 1;
  const auto part = [](int workers) { return Dataset<int>::range(12).shard(workers, 1); };
  const TensorFile file = after(1, part(3).batch(6), options);
  EXPECT_THAT(rest(file, part(3).batch(9), options), ElementsAre(Ints{7}, Ints{10}));
  options.num_workers = 2;
  EXPECT_THAT(report_of([&] { rest(file, part(2).batch(9), options); }).summary,
              HasSubstr("is a position in range(12).shard(3, 1).batch(6) in the file"));
}

TEST_F(DatasetPositions, OfEqualStepsHaveTheRowsOfAllWorkers) {
  testing::asserts("SEM-255");
  DistributeOptions options = kPad;
  options.num_workers = 2;
  // Worker 0 of two, with two replicas each: a step has the rows of both workers.
  options.equal_steps = true;
  const auto whole = two_.distribute_dataset(batches(12, 4), options);
  shares(whole, 1);
  EXPECT_EQ(Checkpoint(two_).add("data", whole).contents().tensors.at("data").bytes[0],
            std::byte{4});
}

TEST_F(DatasetPositions, AreOfOneStrategyAndOneName) {
  testing::asserts("SEM-258");
  const auto data = two_.distribute_dataset(batches(6, 2), kMask);
  EXPECT_EQ(report_of([&] { Checkpoint(three_).add("data", data); }).code,
            ErrorCode::kOtherStrategy);
  Checkpoint twice(two_);
  twice.add("data", data);
  EXPECT_EQ(report_of([&] { twice.add("data", data); }).code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace belfry::dataset_position_test
