// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"
#include "suites/spi/spi_support.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// Collectives whose ranks send or receive different elements: reduce-scatter, gathers of any
// counts, and lists of transfers (SEM-268, SEM-269).
namespace belfry::testing::spi::spi_exchange_props {
namespace {

class SpiExchanges : public SpiTest {};

constexpr int kMostDevices = 6;

// The devices of a communicator, on streams in the order of the schedule.
struct Ranks {
  Ranks(int size, std::uint64_t schedule) : backend(make_backend(size, schedule)) {
    std::vector<int> devices(static_cast<std::size_t>(size));
    std::iota(devices.begin(), devices.end(), 0);
    communicator = backend->communicator(devices);
    for (int rank = 0; rank < size; ++rank) {
      parts.push_back({{}, {}, &backend->device(rank).communication_stream()});
    }
  }

  Device& device(std::size_t rank) const { return backend->device(static_cast<int>(rank)); }
  CollectivePart& part(std::size_t rank) { return parts[rank]; }
  // The communication streams follow the compute streams, or the reverse.
  void hand_over(bool to_communication) const {
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      Stream& compute = device(rank).compute_stream();
      Stream& communication = device(rank).communication_stream();
      const auto event = device(rank).create_event();
      (to_communication ? compute : communication).record(*event);
      (to_communication ? communication : compute).wait(*event);
    }
  }
  // Carries out a collective behind the present work of the compute streams, and before later work.
  void run(Collective collective) const {
    collective.parts = parts;
    hand_over(true);
    const DeviceWork before = backend_factory().work(*backend);
    communicator->run(collective);
    RC_ASSERT(backend_factory().work(*backend).collectives > before.collectives);
    hand_over(false);
    communicator->check_health();
  }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Communicator> communicator;
  std::vector<CollectivePart> parts;
};

HostArray part_of(const HostArray& whole, std::size_t begin, std::size_t count) {
  HostArray part(whole.dtype, count);
  if (count == 0) return part;
  std::memcpy(part.bytes.data(), whole.bytes.data() + begin * size_of(whole.dtype),
              part.bytes.size());
  return part;
}

BufferView part_of(BufferView whole, std::size_t begin, std::size_t count) {
  whole.offset += begin * size_of(whole.dtype);
  whole.count = count;
  return whole;
}

// The elements of each rank: equal numbers, or any. A communicator is told equal numbers or not.
struct Split {
  Split(std::size_t size, Bits& bits) : is_even(bits.below(2) == 0) {
    const std::size_t each = bits.below(40);
    for (std::size_t rank = 0; rank < size; ++rank) {
      begins.push_back(all);
      counts.push_back(is_even ? each : bits.below(40));
      all += counts.back();
    }
    if (!is_even || bits.below(2) == 0) told = counts;
  }

  bool is_even;
  std::vector<std::size_t> begins{};
  std::vector<std::size_t> counts{};
  std::vector<std::size_t> told{};
  std::size_t all = 0;
};

// Each rank has its slice of `all`.
template <class E>
void require_slices(Ranks& ranks, const Split& split, const std::vector<E>& all) {
  for (std::size_t rank = 0; rank < split.counts.size(); ++rank) {
    const HostArray found = download(ranks.part(rank).output);
    for (std::size_t i = 0; i < split.counts[rank]; ++i) {
      E number{};
      std::memcpy(&number, found.bytes.data() + sizeof number * i, sizeof number);
      RC_ASSERT(number == all[split.begins[rank] + i]);
    }
  }
}

// Elements of type int32 that add up by hand.
TEST_F(SpiExchanges, ReduceScatterGivesEachRankItsSum) {
  testing::asserts("SEM-268");
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    Ranks ranks(static_cast<int>(bits.below(kMostDevices)) + 1, schedule);
    const std::size_t size = ranks.parts.size();
    const Split split(size, bits);
    std::vector<std::uint32_t> sums(split.all);
    const bool in_place = bits.below(2) == 0;
    for (std::size_t rank = 0; rank < size; ++rank) {
      HostArray input(DType::kInt32, split.all);
      for (std::size_t i = 0; i < split.all; ++i) {
        const auto number = static_cast<std::uint32_t>(bits.next());
        std::memcpy(input.bytes.data() + 4 * i, &number, 4);
        sums[i] += number;
      }
      CollectivePart& part = ranks.part(rank);
      part.input = upload(ranks.device(rank), input);
      part.output = in_place ? part_of(part.input, split.begins[rank], split.counts[rank])
                             : allocate(ranks.device(rank), DType::kInt32, split.counts[rank]);
    }
    ranks.run({.kind = CollectiveKind::kReduceScatter, .counts = split.told});
    require_slices(ranks, split, sums);
  });
}

// The largest and the smallest of numbers that one rank has, and products of small numbers.
TEST_F(SpiExchanges, ReduceScatterTakesEveryOperator) {
  testing::asserts("SEM-268");
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    Ranks ranks(static_cast<int>(bits.below(kMostDevices)) + 1, schedule);
    const std::size_t size = ranks.parts.size();
    const Split split(size, bits);
    constexpr ReduceOp kOperators[] = {ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd};
    const ReduceOp op = kOperators[bits.below(3)];
    std::vector<float> expected(split.all);
    for (std::size_t rank = 0; rank < size; ++rank) {
      HostArray input(DType::kFloat32, split.all);
      for (std::size_t i = 0; i < split.all; ++i) {
        const auto number = static_cast<float>(bits.below(7)) - 3;  // 3^6 is exact.
        std::memcpy(input.bytes.data() + 4 * i, &number, 4);
        const float before = rank == 0 ? number : expected[i];
        if (op == ReduceOp::kMax) expected[i] = before > number ? before : number;
        if (op == ReduceOp::kMin) expected[i] = before < number ? before : number;
        if (op == ReduceOp::kProd) expected[i] = rank == 0 ? number : before * number;
      }
      CollectivePart& part = ranks.part(rank);
      part.input = upload(ranks.device(rank), input);
      part.output = allocate(ranks.device(rank), DType::kFloat32, split.counts[rank]);
    }
    ranks.run({.kind = CollectiveKind::kReduceScatter, .op = op, .counts = split.told});
    require_slices(ranks, split, expected);
  });
}

// The bits of an all-reduce, in every order that a communicator declares; data without rounding
// where the order is not named.
TEST_F(SpiExchanges, ReduceScatterHasTheBitsOfAllReduce) {
  testing::asserts("SEM-268");
  holds([](std::uint64_t data, std::uint64_t schedule) {
    constexpr DType kTypes[] = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                                DType::kBFloat16, DType::kInt64,   DType::kUInt8};
    Bits bits(data);
    const DType dtype = kTypes[bits.below(6)];
    const bool is_mean = is_floating(dtype) && bits.below(2) == 0;
    // Means of exact sums are exact if the divisor is a power of two.
    const int size = is_mean ? 1 << bits.below(3) : static_cast<int>(bits.below(kMostDevices)) + 1;
    Ranks ranks(size, schedule);
    const bool is_named = ranks.communicator->order() != ReductionOrder::kUnspecified;
    const Split split(ranks.parts.size(), bits);
    std::vector<BufferView> sums;
    for (std::size_t rank = 0; rank < ranks.parts.size(); ++rank) {
      const HostArray input =
          is_named ? random_array(dtype, split.all, bits) : exact_array(dtype, split.all, bits);
      CollectivePart& part = ranks.part(rank);
      part.input = upload(ranks.device(rank), input);
      part.output = allocate(ranks.device(rank), dtype, split.all);
      sums.push_back(part.output);
    }
    const ReduceOp op = is_mean ? ReduceOp::kMean : ReduceOp::kSum;
    ranks.run({.kind = CollectiveKind::kAllReduce, .op = op});
    for (std::size_t rank = 0; rank < ranks.parts.size(); ++rank) {
      ranks.part(rank).output = allocate(ranks.device(rank), dtype, split.counts[rank]);
    }
    ranks.run({.kind = CollectiveKind::kReduceScatter, .op = op, .counts = split.told});
    for (std::size_t rank = 0; rank < ranks.parts.size(); ++rank) {
      RC_ASSERT(download(ranks.part(rank).output) ==
                part_of(download(sums[rank]), split.begins[rank], split.counts[rank]));
    }
  });
}

TEST_F(SpiExchanges, AllGatherTakesAnyCounts) {
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    Ranks ranks(static_cast<int>(bits.below(kMostDevices)) + 1, schedule);
    const auto dtype = static_cast<DType>(bits.below(kNumDTypes));
    const Split split(ranks.parts.size(), bits);
    const HostArray whole = random_array(dtype, split.all, bits);
    for (std::size_t rank = 0; rank < ranks.parts.size(); ++rank) {
      CollectivePart& part = ranks.part(rank);
      part.input =
          upload(ranks.device(rank), part_of(whole, split.begins[rank], split.counts[rank]));
      part.output = allocate(ranks.device(rank), dtype, split.all);
    }
    ranks.run({.kind = CollectiveKind::kAllGather, .counts = split.told});
    for (const CollectivePart& part : ranks.parts) RC_ASSERT(download(part.output) == whole);
  });
}

// Any number of transfers between any ranks, of any types. Inputs may overlap one another. The
// elements of a receiver that no transfer writes stay.
TEST_F(SpiExchanges, TransfersCopyEachInput) {
  testing::asserts("SEM-269");
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    Ranks ranks(static_cast<int>(bits.below(kMostDevices)) + 1, schedule);
    const std::size_t size = ranks.parts.size();
    std::vector<Transfer> transfers;
    std::vector<std::pair<BufferView, HostArray>> expected;
    for (std::size_t i = 0; i < 1 + bits.below(12); ++i) {
      const std::size_t from = bits.below(size);
      const std::size_t to = bits.below(size);
      const auto dtype = static_cast<DType>(bits.below(kNumDTypes));
      const HostArray sent = random_array(dtype, 2 + bits.below(30), bits);
      const BufferView input = upload(ranks.device(from), sent);
      for (std::size_t copy = 0; copy < 1 + bits.below(2); ++copy) {
        HostArray after = random_array(dtype, 40, bits);
        const BufferView target = upload(ranks.device(to), after);
        const std::size_t begin = bits.below(sent.count());
        const std::size_t count = bits.below(sent.count() - begin + 1);
        const std::size_t place = bits.below(10);
        const HostArray part = part_of(sent, begin, count);
        if (count > 0) {
          std::memcpy(after.bytes.data() + place * size_of(dtype), part.bytes.data(),
                      part.bytes.size());
        }
        transfers.push_back({static_cast<int>(from), static_cast<int>(to),
                             part_of(input, begin, count), part_of(target, place, count)});
        expected.emplace_back(target, std::move(after));
      }
      if (from == to && bits.below(2) == 0) {  // In place, to itself.
        const HostArray kept = random_array(dtype, 3, bits);
        const BufferView view = upload(ranks.device(to), kept);
        transfers.push_back({static_cast<int>(to), static_cast<int>(to), view, view});
        expected.emplace_back(view, kept);
      }
    }
    ranks.run({.kind = CollectiveKind::kExchange, .transfers = transfers});
    for (const auto& [view, contents] : expected) RC_ASSERT(download(view) == contents);
  });
}

// Each round sends the contents of each rank to the next rank, and the ends of the ring meet.
TEST_F(SpiExchanges, FollowOneAnotherInOrder) {
  testing::asserts("SEM-269");
  holds([](std::uint64_t data, std::uint64_t schedule) {
    Bits bits(data);
    Ranks ranks(static_cast<int>(bits.below(kMostDevices)) + 1, schedule);
    const std::size_t size = ranks.parts.size();
    std::vector<HostArray> contents;
    std::vector<BufferView> present;
    std::vector<BufferView> next;
    for (std::size_t rank = 0; rank < size; ++rank) {
      contents.push_back(random_array(DType::kInt64, 5, bits));
      present.push_back(upload(ranks.device(rank), contents.back()));
      next.push_back(allocate(ranks.device(rank), DType::kInt64, 5));
    }
    const std::size_t rounds = 1 + bits.below(5);
    for (std::size_t round = 0; round < rounds; ++round) {
      std::vector<Transfer> transfers;
      for (std::size_t rank = 0; rank < size; ++rank) {
        const std::size_t to = (rank + 1) % size;
        transfers.push_back(
            {static_cast<int>(rank), static_cast<int>(to), present[rank], next[to]});
      }
      ranks.run({.kind = CollectiveKind::kExchange, .transfers = transfers});
      std::swap(present, next);
    }
    for (std::size_t rank = 0; rank < size; ++rank) {
      RC_ASSERT(download(present[(rank + rounds) % size]) == contents[rank]);
    }
  });
}

// Three ranks with four floats to send and four to receive.
struct ThreeOfFour {
  ThreeOfFour() : ranks(3, 0) {
    Bits bits(1);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      inputs.push_back(upload(ranks.device(rank), exact_array(DType::kFloat32, 4, bits)));
      outputs.push_back(allocate(ranks.device(rank), DType::kFloat32, 4));
    }
    for (int rank = 0; rank < 3; ++rank) ring.push_back(transfer(rank, (rank + 1) % 3));
  }

  Transfer transfer(int from, int to) const {
    return {from, to, inputs[static_cast<std::size_t>(from)],
            outputs[static_cast<std::size_t>(to)]};
  }
  // The code of a refused exchange after a change of the transfer at `place`, and the text.
  template <class Spoil>
  std::pair<ErrorCode, std::string> refusal(std::size_t place, const Spoil& spoil) const {
    std::vector<Transfer> transfers = ring;
    spoil(transfers[place]);
    const auto call = [&] {
      ranks.communicator->run(
          {.kind = CollectiveKind::kExchange, .parts = ranks.parts, .transfers = transfers});
    };
    return {code_of(call), text_of_error<Error>(call)};
  }

  Ranks ranks;
  std::vector<BufferView> inputs;
  std::vector<BufferView> outputs;
  std::vector<Transfer> ring;
};

TEST_F(SpiExchanges, RefuseTransfersThatDoNotFit) {
  testing::asserts("SEM-269");
  const ThreeOfFour three;
  at_each_place(3, [&](int odd) {
    const auto place = static_cast<std::size_t>(odd);
    const auto expect = [&](ErrorCode code, const char* words, const auto& spoil) {
      const auto [found, text] = three.refusal(place, spoil);
      EXPECT_EQ(found, code) << text;
      EXPECT_THAT(text, ::testing::HasSubstr(words));
    };
    expect(ErrorCode::kInvalidArgument, "is of rank 3 of 3 ranks",
           [](Transfer& one) { one.to = 3; });
    expect(ErrorCode::kInvalidArgument, "is of rank -1 of 3 ranks",
           [](Transfer& one) { one.from = -1; });
    expect(ErrorCode::kStructure, "has 4 elements of float32 for 3 of float32",
           [](Transfer& one) { one.output.count = 3; });
    expect(ErrorCode::kStructure, "has 4 elements of int32 for 4 of float32",
           [](Transfer& one) { one.input.dtype = DType::kInt32; });
    expect(ErrorCode::kOutOfBounds, "from byte 4 of a buffer of 16",
           [](Transfer& one) { one.input.offset = 4; });
    expect(ErrorCode::kInvalidArgument, "has no buffer",
           [](Transfer& one) { one.output.buffer = nullptr; });
    expect(ErrorCode::kInvalidArgument, "the memory of two parts overlaps",
           [&](Transfer& one) { one.output = three.ring[(place + 1) % 3].output; });
    expect(ErrorCode::kInvalidArgument, "the memory of two parts overlaps",
           [&](Transfer& one) { one.output = three.ring[(place + 1) % 3].input; });
  });
}

// In place, an output is the slice of the rank itself.
TEST_F(SpiExchanges, RefuseReduceScattersThatDoNotFit) {
  testing::asserts("SEM-268");
  Ranks ranks(2, 0);
  Bits bits(1);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ranks.part(rank).input = upload(ranks.device(rank), exact_array(DType::kFloat32, 4, bits));
    ranks.part(rank).output = part_of(ranks.part(rank).input, 2 * rank, 2);
  }
  const std::vector<CollectivePart> right = ranks.parts;
  const auto code = [&](std::vector<std::size_t> counts) {
    const ErrorCode found = code_of([&] {
      ranks.communicator->run(
          {.kind = CollectiveKind::kReduceScatter, .parts = ranks.parts, .counts = counts});
    });
    ranks.parts = right;
    return found;
  };
  EXPECT_EQ(code({2, 1, 1}), ErrorCode::kStructure);
  EXPECT_EQ(code({1, 2}), ErrorCode::kStructure) << "3 elements, where the inputs have 4";
  EXPECT_EQ(code({3, 1}), ErrorCode::kStructure) << "outputs of 2 elements";
  at_each_place(2, [&](int odd) {
    const auto place = static_cast<std::size_t>(odd);
    ranks.part(place).output = part_of(right[place].input, 2 - 2 * place, 2);
    EXPECT_EQ(code({}), ErrorCode::kInvalidArgument) << "the slice of the other rank";
    ranks.part(place).output = part_of(right[1 - place].input, 2 * place, 2);
    EXPECT_EQ(code({}), ErrorCode::kInvalidArgument) << "memory of the other rank";
    ranks.part(place).stream = nullptr;
    EXPECT_EQ(code({}), ErrorCode::kInvalidArgument);
  });
  ranks.run({.kind = CollectiveKind::kReduceScatter});
}

}  // namespace
}  // namespace belfry::testing::spi::spi_exchange_props
