// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

namespace belfry::sim::communicator_test {
namespace {

using belfry::testing::at_each_place;

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
  at_each_place(3, [](int root) {
    Clique clique(3);
    for (int rank = 0; rank < 3; ++rank) {
      clique.parts.push_back({clique.empty(rank, 1), clique.empty(rank, 1), &clique.stream(rank)});
    }
    CollectivePart& source = clique.parts[static_cast<std::size_t>(root)];
    source.input = clique.make(root, {9});
    source.output = source.input;
    clique.communicator->broadcast(root, clique.parts);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(clique.read(rank, clique.parts[static_cast<std::size_t>(rank)].output),
                  ElementsAre(9));
    }
  });
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
  using Parts = std::vector<CollectivePart>;

  RefusedCollective() {
    for (int rank = 0; rank < 3; ++rank) clique_.add_part({rank, 2}, 2);
  }
  // The refusal of a broadcast; afterwards nothing may be enqueued.
  ErrorCode refusal(const Parts& parts, int root = 0) {
    try {
      clique_.communicator->broadcast(root, parts);
    } catch (const Error& error) {
      EXPECT_NO_THROW(clique_.communicator->check_health());
      return error.code();
    }
    return ErrorCode::kInternal;
  }
  // Expects that a broadcast is refused if `spoil` has changed a part, at each place.
  template <class Spoil>
  void expect_refused(ErrorCode code, const Spoil& spoil) {
    at_each_place(3, [&](int odd) {
      Parts parts = clique_.parts;
      spoil(parts, static_cast<std::size_t>(odd));
      EXPECT_EQ(refusal(parts), code);
    });
  }

  Clique clique_{3};
};

TEST_F(RefusedCollective, PartsThatDiffer) {
  expect_refused(ErrorCode::kStructure,
                 [](Parts& parts, std::size_t odd) { parts[odd].output.count = 1; });
  at_each_place(3, [&](int odd) {
    Parts parts = clique_.parts;
    parts[static_cast<std::size_t>(odd)].input.count = 1;
    EXPECT_THROW(clique_.communicator->all_reduce(ReduceOp::kSum, parts), StructureMismatchError);
    EXPECT_THROW(clique_.communicator->all_gather(parts), StructureMismatchError);
  });
}

TEST(SimCommunicator, AnOutputOfAnotherLengthIsNamed) {
  at_each_place(3, [](int odd) {
    Clique clique(3);
    for (int rank = 0; rank < 3; ++rank) clique.add_part({rank}, rank == odd ? 3 : 1);
    try {
      clique.communicator->all_reduce(ReduceOp::kSum, clique.parts);
      FAIL() << "three elements were taken for one";
    } catch (const StructureMismatchError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("all_reduce: rank " + std::to_string(odd) +
                                                     " has 3 elements"));
    }
  });
}

TEST_F(RefusedCollective, TypesThatDiffer) {
  expect_refused(ErrorCode::kStructure,
                 [](Parts& parts, std::size_t odd) { parts[odd].output.dtype = DType::kFloat32; });
}

TEST_F(RefusedCollective, TooFewParts) {
  expect_refused(ErrorCode::kStructure, [](Parts& parts, std::size_t odd) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(odd));
  });
}

TEST_F(RefusedCollective, NoStreamOrAnotherDevices) {
  expect_refused(ErrorCode::kInvalidArgument,
                 [](Parts& parts, std::size_t odd) { parts[odd].stream = nullptr; });
  expect_refused(ErrorCode::kInvalidArgument, [](Parts& parts, std::size_t odd) {
    parts[odd].stream = parts[(odd + 1) % 3].stream;
  });
}

TEST_F(RefusedCollective, ARootThatIsNoRank) {
  EXPECT_EQ(refusal(clique_.parts, 3), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(clique_.parts, -1), ErrorCode::kInvalidArgument);
}

TEST_F(RefusedCollective, MemoryThatOverlaps) {
  expect_refused(ErrorCode::kInvalidArgument, [](Parts& parts, std::size_t odd) {
    parts[odd].output = parts[(odd + 1) % 3].output;
  });
  // The input of the root, which is read.
  for (const std::size_t other : {1U, 2U}) {
    Parts parts = clique_.parts;
    parts[other].output = parts[0].input;
    EXPECT_EQ(refusal(parts), ErrorCode::kInvalidArgument);
  }
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
