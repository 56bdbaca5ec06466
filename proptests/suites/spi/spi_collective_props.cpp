// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_kernels.h"
#include "belfry/error.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"
#include "suites/spi/spi_support.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <string>
#include <vector>

// Collectives over any number of devices, out of place and in place, on streams in the order of the
// schedule.
namespace belfry::testing::spi::spi_collective_props {
namespace {

class SpiCollectives : public SpiTest {};

constexpr int kMostDevices = 8;

struct Members {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Communicator> communicator;
  std::vector<HostArray> inputs;
  std::vector<CollectivePart> parts;

  Device& device(int rank) const { return backend->device(rank); }
  int size() const { return static_cast<int>(parts.size()); }
  const BufferView& output(int rank) const { return parts[static_cast<std::size_t>(rank)].output; }
};

// Lets the communication stream of each device start after the commands of its compute stream, or
// the reverse.
void hand_over(Members& members, bool to_communication) {
  for (int rank = 0; rank < members.size(); ++rank) {
    Device& device = members.device(rank);
    Stream& from = to_communication ? device.compute_stream() : device.communication_stream();
    Stream& to = to_communication ? device.communication_stream() : device.compute_stream();
    const auto event = device.create_event();
    from.record(*event);
    to.wait(*event);
  }
}

Members make_members(int size, std::uint64_t schedule, std::vector<HostArray> inputs,
                     std::size_t output_factor, bool in_place) {
  Members members;
  members.backend = make_backend(size, schedule);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  members.communicator = members.backend->communicator(ranks);
  members.inputs = std::move(inputs);
  for (int rank = 0; rank < size; ++rank) {
    Device& device = members.device(rank);
    const HostArray& input = members.inputs[static_cast<std::size_t>(rank)];
    CollectivePart part;
    part.input = upload(device, input);
    part.output =
        in_place ? part.input : allocate(device, input.dtype, input.count() * output_factor);
    part.stream = &device.communication_stream();
    members.parts.push_back(part);
  }
  hand_over(members, true);
  return members;
}

std::vector<HostArray> inputs_of(DType dtype, int size, std::size_t count, bool exact, Bits& bits) {
  std::vector<HostArray> inputs;
  for (int rank = 0; rank < size; ++rank) {
    inputs.push_back(exact ? exact_array(dtype, count, bits) : random_array(dtype, count, bits));
  }
  return inputs;
}

// The fold by replica id. For data with exact sums, every order gives the same result.
HostArray folded(std::vector<HostArray> inputs, ReduceOp op, ReductionOrder order) {
  HostArray result(inputs[0].dtype, inputs[0].count());
  KernelCall call;
  call.kind = KernelKind::kReduceReplicas;
  call.parameters.reduce = op;
  call.parameters.order = order;
  for (HostArray& input : inputs) call.inputs.push_back(input.operand());
  call.outputs = {result.operand()};
  run_on_host(call);
  return result;
}

struct Drawn {
  int size = 1;
  std::size_t count = 0;
  DType dtype = DType::kFloat32;
  bool in_place = false;
  int root = 0;
  ReduceOp op = ReduceOp::kSum;
};

Drawn draw(Bits& bits) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                              DType::kInt32,   DType::kInt64,   DType::kInt8,    DType::kUInt8};
  Drawn drawn;
  drawn.size = static_cast<int>(bits.below(kMostDevices)) + 1;
  drawn.count = bits.below(200);
  drawn.dtype = kTypes[bits.below(8)];
  drawn.in_place = bits.below(2) == 1;
  drawn.root = static_cast<int>(bits.below(static_cast<std::size_t>(drawn.size)));
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin};
  const bool of_few_types = bits.below(2) == 1;  // Products of floats are inexact.
  const ReduceOp own = is_floating(drawn.dtype) ? ReduceOp::kMean : ReduceOp::kProd;
  drawn.op = of_few_types ? own : kOps[bits.below(3)];
  // Means of exact sums are exact if the divisor is a power of two.
  if (drawn.op == ReduceOp::kMean) drawn.size = 1 << bits.below(4);
  drawn.root %= drawn.size;
  return drawn;
}

TEST_F(SpiCollectives, AllReduceFoldsByReplica) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const Drawn drawn = draw(bits);
    auto inputs = inputs_of(drawn.dtype, drawn.size, drawn.count, true, bits);
    Members members = make_members(drawn.size, schedule, inputs, 1, drawn.in_place);
    // Data without rounding fit every order; where the order is named, any data do.
    const ReductionOrder order = members.communicator->order();
    if (order != ReductionOrder::kUnspecified) {
      inputs = inputs_of(drawn.dtype, drawn.size, drawn.count, false, bits);
      members = make_members(drawn.size, schedule, inputs, 1, drawn.in_place);
    }
    const DeviceWork before = backend_factory().work(*members.backend);
    members.communicator->run(
        {.kind = CollectiveKind::kAllReduce, .parts = members.parts, .op = drawn.op});
    hand_over(members, false);
    const HostArray expected = folded(inputs, drawn.op, order);
    for (int rank = 0; rank < members.size(); ++rank) {
      RC_ASSERT(download(members.output(rank)) == expected);
    }
    RC_ASSERT(backend_factory().work(*members.backend).collectives > before.collectives);
    members.communicator->check_health();
  });
}

// Adds a collective of the same members to a call, with inputs of its own.
void add_collective(Members& members, const std::vector<HostArray>& inputs, bool in_place) {
  for (int rank = 0; rank < static_cast<int>(inputs.size()); ++rank) {
    Device& device = members.device(rank);
    const HostArray& input = inputs[static_cast<std::size_t>(rank)];
    const BufferView view = upload(device, input);
    const BufferView output = in_place ? view : allocate(device, input.dtype, input.count());
    members.parts.push_back({view, output, &device.communication_stream()});
  }
}

TEST_F(SpiCollectives, AllReduceTakesSeveralInOneCall) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const Drawn drawn = draw(bits);
    std::vector<std::vector<HostArray>> inputs;
    for (std::size_t i = 0; i < 1 + bits.below(4); ++i) {
      inputs.push_back(inputs_of(drawn.dtype, drawn.size, bits.below(50), true, bits));
    }
    Members members = make_members(drawn.size, schedule, inputs[0], 1, drawn.in_place);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      add_collective(members, inputs[i], bits.below(2) == 1);
    }
    const std::vector<CollectivePart> parts = members.parts;
    members.parts.resize(static_cast<std::size_t>(drawn.size));
    hand_over(members, true);
    members.communicator->run({.kind = CollectiveKind::kAllReduce, .parts = parts, .op = drawn.op});
    hand_over(members, false);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& own = inputs[i / static_cast<std::size_t>(drawn.size)];
      RC_ASSERT(download(parts[i].output) == folded(own, drawn.op, ReductionOrder::kReplicaOrder));
    }
    members.communicator->check_health();
  });
}

// An element type that a communicator does not support is refused, and every other type is reduced.
TEST_F(SpiCollectives, SupportWhatAllReduceTakes) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const int size = static_cast<int>(bits.below(4)) + 1;
    for (int type = 0; type < kNumDTypes; ++type) {
      const auto dtype = static_cast<DType>(type);
      if (dtype == DType::kBool) continue;
      const auto inputs = inputs_of(dtype, size, 1 + bits.below(9), true, bits);
      Members members = make_members(size, schedule, inputs, 1, false);
      Communicator& communicator = *members.communicator;
      if (communicator.supports(dtype)) {
        communicator.run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
        hand_over(members, false);
        RC_ASSERT(download(members.output(size - 1)) ==
                  folded(inputs, ReduceOp::kSum, ReductionOrder::kReplicaOrder));
      } else {
        RC_ASSERT_THROWS_AS(
            communicator.run({.kind = CollectiveKind::kAllReduce, .parts = members.parts}),
            UnsupportedError);
      }
    }
  });
}

TEST_F(SpiCollectives, BroadcastCopiesTheRoot) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const Drawn drawn = draw(bits);
    const DType dtype = static_cast<DType>(bits.below(kNumDTypes));
    const auto inputs = inputs_of(dtype, drawn.size, drawn.count, false, bits);
    Members members = make_members(drawn.size, schedule, inputs, 1, drawn.in_place);
    for (int rank = 0; rank < drawn.size; ++rank) {
      if (rank == drawn.root) continue;
      CollectivePart& part = members.parts[static_cast<std::size_t>(rank)];
      part.input = allocate(members.device(rank), dtype, drawn.count);  // Never read.
      if (drawn.in_place) part.output = part.input;
    }
    hand_over(members, true);
    members.communicator->run(
        {.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = drawn.root});
    hand_over(members, false);
    for (int rank = 0; rank < members.size(); ++rank) {
      RC_ASSERT(download(members.output(rank)) == inputs[static_cast<std::size_t>(drawn.root)]);
    }
  });
}

TEST_F(SpiCollectives, AllGatherConcatenatesByRank) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const Drawn drawn = draw(bits);
    const DType dtype = static_cast<DType>(bits.below(kNumDTypes));
    const auto inputs = inputs_of(dtype, drawn.size, drawn.count, false, bits);
    const auto size = static_cast<std::size_t>(drawn.size);
    Members members = make_members(drawn.size, schedule, inputs, size, false);
    members.communicator->run({.kind = CollectiveKind::kAllGather, .parts = members.parts});
    hand_over(members, false);
    std::vector<std::byte> expected;
    for (const HostArray& input : inputs) {
      expected.insert(expected.end(), input.bytes.begin(), input.bytes.end());
    }
    for (int rank = 0; rank < members.size(); ++rank) {
      RC_ASSERT(download(members.output(rank)).bytes == expected);
    }
  });
}

TEST_F(SpiCollectives, FollowOneAnotherInOrder) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    const int size = static_cast<int>(bits.below(kMostDevices)) + 1;
    const std::size_t count = bits.below(20) + 1;
    auto inputs = inputs_of(DType::kInt64, size, count, true, bits);
    Members members = make_members(size, schedule, inputs, 1, true);
    const std::size_t rounds = bits.below(4) + 1;
    for (std::size_t round = 0; round < rounds; ++round) {
      members.communicator->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
      inputs.assign(static_cast<std::size_t>(size),
                    folded(inputs, ReduceOp::kSum, ReductionOrder::kReplicaOrder));
    }
    hand_over(members, false);
    for (int rank = 0; rank < size; ++rank) {
      RC_ASSERT(download(members.output(rank)) == inputs[static_cast<std::size_t>(rank)]);
    }
  });
}

// Expects the refusal of an all-reduce if `spoil` has changed a part, at each place of three.
template <class Spoil>
void expect_refused(ErrorCode code, Members& members, const Spoil& spoil) {
  at_each_place(3, [&](int odd) {
    auto parts = members.parts;
    spoil(parts, static_cast<std::size_t>(odd));
    EXPECT_EQ(code_of([&] {
                members.communicator->run({.kind = CollectiveKind::kAllReduce, .parts = parts});
              }),
              code);
  });
}

TEST_F(SpiCollectives, RefuseWhatDoesNotFit) {
  using Parts = std::vector<CollectivePart>;
  Bits bits(1);
  const auto inputs = inputs_of(DType::kFloat32, 3, 4, true, bits);
  Members members = make_members(3, 0, inputs, 1, false);
  Communicator& communicator = *members.communicator;
  const auto refused = [&](ErrorCode code, const auto& spoil) {
    expect_refused(code, members, spoil);
  };
  refused(ErrorCode::kStructure, [](Parts& parts, std::size_t odd) { parts[odd].input.count = 3; });
  refused(ErrorCode::kStructure,
          [](Parts& parts, std::size_t odd) { parts[odd].output.count = 3; });
  refused(ErrorCode::kStructure,
          [](Parts& parts, std::size_t odd) { parts[odd].input.dtype = DType::kInt32; });
  refused(ErrorCode::kStructure, [](Parts& parts, std::size_t odd) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(odd));
  });
  refused(ErrorCode::kStructure, [](Parts& parts, std::size_t) { parts.clear(); });
  refused(ErrorCode::kInvalidArgument,
          [](Parts& parts, std::size_t odd) { parts[odd].stream = parts[(odd + 1) % 3].stream; });
  // Two collectives in a call. The second lacks a part, has a different type, or is impossible.
  refused(ErrorCode::kStructure,
          [](Parts& parts, std::size_t odd) { parts.push_back(parts[odd]); });
  refused(ErrorCode::kStructure, [](Parts& parts, std::size_t) {
    parts.insert(parts.end(), parts.begin(), parts.begin() + 3);
    for (std::size_t i = 3; i < 6; ++i) {
      parts[i].input.dtype = parts[i].output.dtype = DType::kInt32;
    }
  });
  refused(ErrorCode::kInvalidArgument,
          [](Parts& parts, std::size_t odd) { parts.insert(parts.end(), 3, parts[odd]); });
  for (const int root : {3, -1}) {
    EXPECT_EQ(code_of([&] {
                communicator.run(
                    {.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = root});
              }),
              ErrorCode::kInvalidArgument);
  }
  const auto integers = inputs_of(DType::kInt32, 2, 4, true, bits);
  Members whole = make_members(2, 0, integers, 1, false);
  EXPECT_EQ(
      code_of([&] {
        whole.communicator->run(
            {.kind = CollectiveKind::kAllReduce, .parts = whole.parts, .op = ReduceOp::kMean});
      }),
      ErrorCode::kIntegerMean);
  // Nothing of the refused calls was enqueued.
  communicator.run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  hand_over(members, false);
  EXPECT_EQ(download(members.output(1)),
            folded(inputs, ReduceOp::kSum, ReductionOrder::kReplicaOrder));
}

Members two_of_four_floats() {
  Bits bits(1);
  return make_members(2, 0, inputs_of(DType::kFloat32, 2, 4, true, bits), 1, false);
}

// Every backend refuses these calls with the same words.
TEST_F(SpiCollectives, RefuseInTheSameWords) {
  const Members members = two_of_four_floats();
  Communicator& communicator = *members.communicator;
  auto parts = members.parts;
  const auto sum = [&] { communicator.run({.kind = CollectiveKind::kAllReduce, .parts = parts}); };
  const auto expect = [&](auto&& call, const std::string& words) {
    EXPECT_THAT(text_of_error<Error>(call), ::testing::HasSubstr(words));
    parts = members.parts;
  };
  parts[1].output.count = 3;
  expect(sum, "all_reduce: rank 1 has 3 elements of float32 where 4 of float32 are expected");
  expect([&] { communicator.run({.kind = CollectiveKind::kAllGather, .parts = parts}); },
         "all_gather: rank 0 has 4 elements of float32 where 8 of float32 are expected");
  expect([&] { communicator.run({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = 2}); },
         "broadcast: root 2 of 2 ranks");
  parts.pop_back();
  expect(sum, "all_reduce: 1 parts for 2 members");
  parts[1].stream = nullptr;
  expect(sum, "all_reduce: rank 1 has no stream");
  parts[0].input.buffer = nullptr;
  expect(sum, "all_reduce: a view of rank 0 has no buffer");
  parts[1].output.offset = 4;
  expect(sum,
         "all_reduce: a view of rank 1 is 4 elements of float32 from byte 4 of a buffer of 16");
}

// In place means a rank's own input, and all of the input.
TEST_F(SpiCollectives, RefuseOutputsThatOverlapAnythingElse) {
  const Members members = two_of_four_floats();
  Communicator& communicator = *members.communicator;
  auto parts = members.parts;
  const auto expect_refusal = [&](auto&& call) {
    EXPECT_THAT(text_of_error<Error>(call),
                ::testing::HasSubstr("the memory of two parts overlaps"));
    parts = members.parts;
  };
  const auto sum = [&] { communicator.run({.kind = CollectiveKind::kAllReduce, .parts = parts}); };
  parts[1].output = parts[0].output;
  expect_refusal(sum);
  parts[0].output = parts[1].input;
  expect_refusal(sum);
  parts[1].output = parts[0].input;
  expect_refusal(
      [&] { communicator.run({.kind = CollectiveKind::kBroadcast, .parts = parts, .root = 0}); });
  for (CollectivePart& part : parts) part.input.count = part.output.count = 2;
  parts[1].output = parts[1].input;
  parts[1].output.offset += 4;
  expect_refusal(sum);
  for (CollectivePart& part : parts) {  // The input is a part of the output.
    part.output = part.input;
    part.input.count = 2;
  }
  expect_refusal([&] { communicator.run({.kind = CollectiveKind::kAllGather, .parts = parts}); });
}

TEST_F(SpiCollectives, GatherInPlaceFromOne) {
  Bits bits(1);
  const auto inputs = inputs_of(DType::kFloat32, 1, 4, true, bits);
  Members members = make_members(1, 0, inputs, 1, true);
  members.communicator->run({.kind = CollectiveKind::kAllGather, .parts = members.parts});
  hand_over(members, false);
  EXPECT_EQ(download(members.output(0)), inputs[0]);
}

TEST_F(SpiCollectives, AreAmongDistinctDevicesThereAre) {
  const auto backend = make_backend(2, 0);
  const auto make = [&](std::vector<int> devices) {
    return code_of([&] { static_cast<void>(backend->communicator(devices)); });
  };
  EXPECT_EQ(make({}), ErrorCode::kNoDevices);
  EXPECT_EQ(make({0, 0}), ErrorCode::kDuplicateDevice);
  const int next = backend->connections().host == 2 ? 3 : 2;
  EXPECT_EQ(make({0, next}), ErrorCode::kUnknownDevice);
  EXPECT_EQ(make({-1}), ErrorCode::kUnknownDevice);
}

TEST_F(SpiCollectives, KnowTheirRanks) {
  const auto backend = make_backend(3, 0);
  const int devices[] = {2, 0};
  const auto communicator = backend->communicator(devices);
  EXPECT_EQ(communicator->size(), 2);
  const auto ranks = communicator->local_ranks();
  EXPECT_EQ(std::vector<int>(ranks.begin(), ranks.end()), (std::vector<int>{0, 1}));
}

// Rank 0 is device 2, and rank 1 is device 0.
TEST_F(SpiCollectives, FollowTheListAndNotTheIndices) {
  Bits bits(1);
  Members members = make_members(3, 0, inputs_of(DType::kInt32, 3, 1, true, bits), 2, false);
  const int devices[] = {2, 0};
  const auto communicator = members.backend->communicator(devices);
  std::vector<CollectivePart> parts{members.parts[2], members.parts[0]};
  communicator->run({.kind = CollectiveKind::kAllGather, .parts = parts});
  hand_over(members, false);
  HostArray expected = members.inputs[2];
  expected.bytes.insert(expected.bytes.end(), members.inputs[0].bytes.begin(),
                        members.inputs[0].bytes.end());
  EXPECT_EQ(download(members.output(2)), expected);
  EXPECT_EQ(download(members.output(0)), expected);
  parts[0].stream = members.parts[1].stream;
  EXPECT_EQ(
      code_of([&] { communicator->run({.kind = CollectiveKind::kAllGather, .parts = parts}); }),
      ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace belfry::testing::spi::spi_collective_props
