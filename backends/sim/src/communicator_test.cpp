// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/sim/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

namespace belfry::sim::communicator_test {
namespace {

using ::testing::ElementsAre;

using Numbers = std::vector<std::int32_t>;

// A communicator of all devices of a backend, with an input and an output for each device.
struct Clique {
  explicit Clique(int devices, std::uint64_t seed = 0)
      : backend({.devices = devices, .seed = seed}) {
    std::vector<int> all;
    for (int i = 0; i < devices; ++i) all.push_back(i);
    communicator = backend.communicator(all);
  }

  Stream& stream(int rank) { return backend.device(rank).communication_stream(); }
  BufferView empty(int rank, std::size_t count) {
    return view_of(backend.device(rank).allocate(count * 4, stream(rank)), DType::kInt32);
  }
  BufferView make(int rank, const Numbers& numbers) {
    BufferView view = empty(rank, numbers.size());
    stream(rank).write(view, numbers.data());
    return view;
  }
  Numbers read(int rank, const BufferView& view) {
    Numbers numbers(view.count);
    stream(rank).read(numbers.data(), view);
    return numbers;
  }
  void add_part(const Numbers& input, std::size_t output) {
    const int rank = static_cast<int>(parts.size());
    parts.push_back({make(rank, input), empty(rank, output), &stream(rank)});
  }

  Backend backend;
  std::unique_ptr<Communicator> communicator;
  std::vector<CollectivePart> parts;
};

TEST(SimCommunicator, AllReduceGivesEveryRankTheSum) {
  Clique clique(3);
  clique.add_part({1, 10}, 2);
  clique.add_part({2, 20}, 2);
  clique.add_part({4, 40}, 2);
  clique.communicator->all_reduce(ReduceOp::kSum, clique.parts);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(clique.read(rank, clique.parts[static_cast<std::size_t>(rank)].output),
                ElementsAre(7, 70));
  }
}

TEST(SimCommunicator, AllReduceInPlace) {
  Clique clique(2);
  clique.add_part({1}, 0);
  clique.add_part({5}, 0);
  for (CollectivePart& part : clique.parts) part.output = part.input;
  clique.communicator->all_reduce(ReduceOp::kSum, clique.parts);
  EXPECT_THAT(clique.read(0, clique.parts[0].output), ElementsAre(6));
  EXPECT_THAT(clique.read(1, clique.parts[1].output), ElementsAre(6));
}

TEST(SimCommunicator, BroadcastDoesNotReadOtherInputs) {
  Clique clique(3);
  for (int rank = 0; rank < 3; ++rank) {
    clique.parts.push_back({clique.empty(rank, 1), clique.empty(rank, 1), &clique.stream(rank)});
  }
  clique.parts[2].input = clique.make(2, {9});
  clique.parts[2].output = clique.parts[2].input;
  clique.communicator->broadcast(2, clique.parts);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(clique.read(rank, clique.parts[static_cast<std::size_t>(rank)].output),
                ElementsAre(9));
  }
}

TEST(SimCommunicator, AllGatherKeepsTheOrderOfRanks) {
  Clique clique(2);
  clique.add_part({1, 2}, 4);
  clique.add_part({3, 4}, 4);
  clique.communicator->all_gather(clique.parts);
  EXPECT_THAT(clique.read(0, clique.parts[0].output), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(clique.read(1, clique.parts[1].output), ElementsAre(1, 2, 3, 4));
}

RC_GTEST_PROP(SimCommunicator, AllReduceIsTheSumForEverySchedule,
              (std::uint64_t seed, const std::vector<std::uint16_t>& values)) {
  RC_PRE(!values.empty());
  const int ranks = static_cast<int>(values.size());
  Clique clique(ranks, seed);
  std::int32_t sum = 0;
  for (const std::uint16_t value : values) {
    clique.add_part({value}, 1);
    sum += value;
  }
  clique.communicator->all_reduce(ReduceOp::kSum, clique.parts);
  for (int rank = 0; rank < ranks; ++rank) {
    RC_ASSERT(clique.read(rank, clique.parts[static_cast<std::size_t>(rank)].output)[0] == sum);
  }
}

class RefusedCollective : public ::testing::Test {
 protected:
  RefusedCollective() {
    clique_.add_part({1, 2}, 2);
    clique_.add_part({3, 4}, 2);
  }
  // The refusal of every collective with the current parts; afterwards nothing may be enqueued.
  ErrorCode refusal(int root = 0) {
    try {
      clique_.communicator->broadcast(root, clique_.parts);
    } catch (const Error& error) {
      EXPECT_NO_THROW(clique_.communicator->check_health());
      return error.code();
    }
    return ErrorCode::kInternal;
  }

  Clique clique_{2};
};

TEST_F(RefusedCollective, PartsThatDiffer) {
  clique_.parts[1].output.count = 1;
  EXPECT_EQ(refusal(), ErrorCode::kStructure);
  clique_.parts[1].input.count = 1;
  EXPECT_THROW(clique_.communicator->all_reduce(ReduceOp::kSum, clique_.parts),
               StructureMismatchError);
  EXPECT_THROW(clique_.communicator->all_gather(clique_.parts), StructureMismatchError);
}

TEST(SimCommunicator, AnOutputOfAnotherLengthIsNamed) {
  Clique clique(2);
  clique.add_part({1}, 1);
  clique.add_part({2}, 3);
  try {
    clique.communicator->all_reduce(ReduceOp::kSum, clique.parts);
    FAIL() << "three elements were taken for one";
  } catch (const StructureMismatchError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("all_reduce: rank 1 has 3 elements"));
  }
}

TEST_F(RefusedCollective, TypesThatDiffer) {
  clique_.parts[1].output.dtype = DType::kFloat32;
  EXPECT_EQ(refusal(), ErrorCode::kStructure);
}

TEST_F(RefusedCollective, TooFewParts) {
  clique_.parts.pop_back();
  EXPECT_EQ(refusal(), ErrorCode::kStructure);
}

TEST_F(RefusedCollective, NoStreamOrAnotherDevices) {
  clique_.parts[1].stream = nullptr;
  EXPECT_EQ(refusal(), ErrorCode::kInvalidArgument);
  clique_.parts[1].stream = &clique_.stream(0);
  EXPECT_EQ(refusal(), ErrorCode::kInvalidArgument);
}

TEST_F(RefusedCollective, ARootThatIsNoRank) {
  EXPECT_EQ(refusal(2), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(-1), ErrorCode::kInvalidArgument);
}

TEST_F(RefusedCollective, MemoryThatOverlaps) {
  clique_.parts[1].output = clique_.parts[0].input;
  EXPECT_EQ(refusal(), ErrorCode::kInvalidArgument);
  clique_.parts[1].output = clique_.parts[0].output;
  EXPECT_EQ(refusal(), ErrorCode::kInvalidArgument);
}

TEST(SimCommunicator, DevicesAreChecked) {
  Backend backend{{.devices = 2}};
  const auto code_of = [&](const std::vector<int>& devices) {
    try {
      backend.communicator(devices);
    } catch (const InvalidArgumentError& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code_of({}), ErrorCode::kNoDevices);
  EXPECT_EQ(code_of({0, 0}), ErrorCode::kDuplicateDevice);
  EXPECT_EQ(code_of({0, 3}), ErrorCode::kUnknownDevice);
  EXPECT_EQ(code_of({-1}), ErrorCode::kUnknownDevice);
}

TEST(SimCommunicator, RanksFollowTheListAndNotTheIndices) {
  Backend backend{{.devices = 3}};
  const auto communicator = backend.communicator(std::vector<int>{2, 0});
  EXPECT_EQ(communicator->size(), 2);
  EXPECT_THAT(communicator->local_ranks(), ElementsAre(0, 1));
  EXPECT_EQ(communicator->order(), ReductionOrder::kReplicaOrder);
}

// Rank 0 is device 2, and rank 1 is device 0.
TEST(SimCommunicator, CollectivesFollowTheListAndNotTheIndices) {
  Clique clique(3);
  const auto communicator = clique.backend.communicator(std::vector<int>{2, 0});
  std::vector<CollectivePart> parts;
  for (const int device : {2, 0}) {
    parts.push_back(
        {clique.make(device, {device + 5}), clique.empty(device, 2), &clique.stream(device)});
  }
  communicator->all_gather(parts);
  EXPECT_THAT(clique.read(2, parts[0].output), ElementsAre(7, 5));
  EXPECT_THAT(clique.read(0, parts[1].output), ElementsAre(7, 5));
  parts[0].stream = &clique.stream(1);
  try {
    communicator->all_gather(parts);
    FAIL() << "a stream of another device was taken";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("all_gather: rank 0 is device 2, its stream is "
                                                   "of device 1"));
  }
}

}  // namespace
}  // namespace belfry::sim::communicator_test
