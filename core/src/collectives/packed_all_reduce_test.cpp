// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of packs: the bits, the copies, and unpack(pack(x)) == x (SEM-149).
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "collectives/testing/counting_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::packed_all_reduce_test {
namespace {

using testing::CountingLinks;
using ::testing::HasSubstr;
using Algorithm = std::shared_ptr<CrossDeviceOps>;

// Every output is the input of the same part; counts the tensors of all calls.
class Identity final : public CrossDeviceOps {
 public:
  std::string_view name() const override { return "identity"; }
  ReductionOrder order(ReplicaDevices&) const override { return ReductionOrder::kReplicaOrder; }
  void all_reduce(const TensorReduction& reduction) override {
    calls += 1;
    tensors += reduction.tensors();
    for (const CollectivePart& part : reduction.parts) part.stream->copy(part.output, part.input);
  }
  std::size_t calls = 0;
  std::size_t tensors = 0;
};

// Values in [-1, 1] whose sums depend on the order.
float value_of(int replica, std::size_t tensor, std::size_t element) {
  const auto mixed = static_cast<std::uint32_t>(replica * 7919 + tensor * 104729 + element * 31);
  return static_cast<float>(mixed * 2654435761U) / 2147483648.0F - 1;
}

constexpr std::size_t kLengths[] = {3, 0, 17, 1, 64, 5, 5};

// The elements of all sums on each replica, in the order of the tensors.
std::vector<std::vector<float>> sums_of(Algorithm algorithm, int replicas) {
  HostBackend backend(replicas);
  MirroredStrategy strategy(backend, {.cross_device_ops = std::move(algorithm)});
  const auto results = strategy.run([](ReplicaContext& replica) {
    std::vector<Tensor<float>> mine;
    for (std::size_t t = 0; t < std::size(kLengths); ++t) {
      std::vector<float> values;
      for (std::size_t e = 0; e < kLengths[t]; ++e) {
        values.push_back(value_of(replica.replica_id(), t, e));
      }
      mine.push_back(Tensor<float>::from({static_cast<std::int64_t>(values.size())}, values));
    }
    std::vector<float> all;
    for (const auto& sum : replica.all_reduce(ReduceOp::kSum, mine)) {
      for (const float x : sum.to_host()) all.push_back(x);
    }
    return all;
  });
  return {results.begin(), results.end()};
}

// Packs of 40 bytes: some of several tensors, some of one.
Algorithm packed(Algorithm inner, std::int64_t bytes = 40) {
  return in_packs(std::move(inner), {.bytes_per_pack = bytes});
}

// Four numbers of at most 1: each of three additions rounds by at most 4 * 2^-24.
TEST(PackedAllReduces, P17_OnARingStayWithinTheBoundOfAnyOrder) {
  testing::asserts("SEM-149");
  const auto plain = sums_of(std::make_shared<ReductionToOneDevice>(), 4);
  const auto ring = sums_of(packed(std::make_shared<RingAllReduce>()), 4);
  ASSERT_EQ(ring[0].size(), 95U);
  for (std::size_t i = 0; i < 95; ++i) EXPECT_NEAR(ring[0][i], plain[0][i], 24.0 / 16777216.0);
  for (const auto& each : ring) EXPECT_EQ(each, ring[0]);
}

TEST(PackedAllReduces, P17_HaveNoRingOrder) {
  testing::asserts("SEM-149");
  HostBackend backend(4);
  ReplicaDevices devices(backend, {0, 1, 2, 3});
  const Algorithm ring = packed(std::make_shared<RingAllReduce>());
  EXPECT_EQ(ring->name(), "packed ring");
  EXPECT_EQ(ring->order(devices), ReductionOrder::kUnspecified);
  EXPECT_TRUE(ring->can_add_in(ReductionOrder::kUnspecified, devices));
  EXPECT_FALSE(ring->can_add_in(ReductionOrder::kRing, devices));
  const Algorithm tree = packed(std::make_shared<TreeAllReduce>());
  EXPECT_EQ(tree->order(devices), ReductionOrder::kTree);
  EXPECT_FALSE(tree->can_add_in(ReductionOrder::kReplicaOrder, devices));
}

// Replica i has i and i + 1: sums 1 and 3 on two replicas, means 0.5 and 1.5.
TEST(PackedAllReduces, X08_WithEveryBoundGiveTheSameNumbers) {
  testing::asserts("SEM-149");
  const std::vector<PackOptions> options{
      {}, {.bytes_per_pack = 0}, {.bytes_per_pack = 1}, {.bytes_per_tensor = 1}};
  for (const PackOptions& each : options) {
    HostBackend backend(2);
    MirroredStrategy strategy(
        backend, {.cross_device_ops = in_packs(std::make_shared<HierarchicalAllReduce>(), each)});
    const auto results = strategy.run([](ReplicaContext& replica) {
      const auto id = static_cast<float>(replica.replica_id());
      const std::vector mine{Tensor<float>::full({}, id), Tensor<float>::full({}, id + 1)};
      const auto sums = replica.all_reduce(ReduceOp::kSum, mine);
      const auto means = replica.all_reduce(ReduceOp::kMean, mine);
      return std::vector{sums[0].item(), sums[1].item(), means[0].item(), means[1].item()};
    });
    for (const auto& result : results) EXPECT_EQ(result, (std::vector<float>{1, 3, 0.5F, 1.5F}));
  }
}

// 20 tensors of 3 floats on 4 devices: 3 copies to device 0 and 3 copies back for each tensor.
// Packs of 10 tensors have a tenth of the copies, and the same bytes: 20 * 12.
TEST(PackedAllReduces, CopyOncePerPackOnEachLink) {
  testing::asserts("SEM-149");
  for (const bool is_packed : {false, true}) {
    CountingLinks backend(4);
    const Algorithm plain = std::make_shared<ReductionToOneDevice>();
    MirroredStrategy strategy(backend,
                              {.cross_device_ops = is_packed ? packed(plain, 120) : plain});
    strategy.run([](ReplicaContext& replica) {
      const std::vector<Tensor<float>> mine(20, Tensor<float>::full({3}, 1));
      for (const auto& sum : replica.all_reduce(ReduceOp::kSum, mine)) {
        EXPECT_EQ(sum.to_host(), std::vector<float>(3, 4));
      }
    });
    const LinkTraffic expected{is_packed ? 2U : 20U, 240};
    EXPECT_EQ(backend.traffic().links.size(), 6U);
    for (const auto& [link, traffic] : backend.traffic().links) EXPECT_EQ(traffic, expected);
  }
}

TEST(PackedAllReduces, AreNotCalledForLengthsThatDifferBetweenReplicas) {
  testing::asserts("SEM-36", "SEM-149");
  HostBackend backend(2);
  const auto identity = std::make_shared<Identity>();
  MirroredStrategy strategy(backend, {.cross_device_ops = packed(identity)});
  EXPECT_THROW(strategy.run([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2 + replica.replica_id()}, 1));
  }),
               StructureMismatchError);
  EXPECT_EQ(identity->calls, 0U);
}

// Overridden (C-09, C-10): 0 bytes are no bound.
TEST(PackedAllReduces, C08_C09_C10_RefuseWrongOptions) {
  testing::asserts("SEM-149");
  const auto identity = std::make_shared<Identity>();
  EXPECT_THROW(in_packs(nullptr), InvalidArgumentError);
  EXPECT_THROW(in_packs(identity, {.bytes_per_pack = -1}), InvalidArgumentError);
  EXPECT_THROW(in_packs(identity, {.bytes_per_tensor = -1}), InvalidArgumentError);
  EXPECT_NO_THROW(in_packs(identity, {.bytes_per_tensor = 0, .bytes_per_pack = 0}));
}

// A plan of the first member would copy four elements out of three.
TEST(PackedAllReduces, RefuseMembersWithDifferentTensors) {
  testing::asserts("SEM-149");
  HostBackend backend(3);
  ReplicaDevices devices(backend, {0, 1, 2});
  const auto identity = std::make_shared<Identity>();
  testing::at_each_place(3, [&](int odd) {
    std::vector<CollectivePart> parts;
    for (const int tensor : {0, 1}) {
      for (const int member : {0, 1, 2}) {
        Device& device = backend.device(member);
        Stream& stream = device.communication_stream();
        const std::size_t elements = tensor == 1 && member == odd ? 3 : 4;
        const BufferView view = view_of(device.allocate(4 * elements, stream), DType::kFloat32);
        parts.push_back({view, view, &stream});
      }
    }
    try {
      in_packs(identity)->all_reduce({.parts = parts, .members = 3, .devices = &devices});
      FAIL() << "different tensors";
    } catch (const StructureMismatchError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStructure);
      EXPECT_THAT(error.what(),
                  HasSubstr(odd == 0 ? "tensor 1 has 3 elements of float32 on member 0, and 4 of "
                                       "float32 on member 1"
                                     : "tensor 1 has 4 elements of float32 on member 0, and 3 of "
                                       "float32 on member " +
                                           std::to_string(odd)));
    }
  });
  EXPECT_EQ(identity->calls, 0U);
}

TEST(PackedAllReduces, HaveThePlanOfAnAlgorithmWithOneChunk) {
  testing::asserts("SEM-149");
  const auto tree = std::make_shared<TreeAllReduce>();
  EXPECT_EQ(packed(tree)->plan(5), tree->plan(5));
  EXPECT_EQ(packed(std::make_shared<RingAllReduce>())->plan(5), std::nullopt);
  EXPECT_EQ(packed(std::make_shared<NativeAllReduce>())->plan(5), std::nullopt);
}

// 20 tensors of 3 floats, which are 240 bytes. Without a communicator, and in tree order, tensors
// go to one device: in one pack, and in ring order one by one.
TEST(PackedAllReduces, AreTheDefaultOnTheWayToOneDevice) {
  testing::asserts("SEM-149");
  for (const auto order : {ReductionOrder::kTree, ReductionOrder::kRing}) {
    CountingLinks backend(3);
    MirroredStrategy strategy(backend, {.order = order});
    strategy.run([](ReplicaContext& replica) {
      const std::vector<Tensor<float>> mine(20, Tensor<float>::full({3}, 1));
      for (const auto& sum : replica.all_reduce(ReduceOp::kSum, mine)) {
        EXPECT_EQ(sum.to_host(), std::vector<float>(3, 3));
      }
    });
    const LinkTraffic expected{order == ReductionOrder::kTree ? 1U : 20U, 240};
    EXPECT_EQ(backend.traffic().links.size(), 4U);
    for (const auto& [link, traffic] : backend.traffic().links) EXPECT_EQ(traffic, expected);
  }
}

// P15: bytes of every element type go into packs and come back, with every bound.
RC_GTEST_PROP(PackedAllReduces, P15_UnpackWhatTheyPacked, ()) {
  testing::asserts("SEM-149");
  HostBackend backend(1);
  ReplicaDevices devices(backend, {0});
  Device& device = backend.device(0);
  Stream& stream = device.communication_stream();
  const auto dtype = static_cast<DType>(*rc::gen::inRange(0, kNumDTypes));
  const auto lengths =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 30));
  const auto limit = *rc::gen::inRange(0, 200);
  for (const PackOptions& each :
       {PackOptions{.bytes_per_pack = limit}, PackOptions{.bytes_per_tensor = limit}}) {
    std::vector<CollectivePart> parts;
    std::vector<std::vector<std::uint8_t>> values;
    for (const std::size_t length : lengths) {
      const std::size_t bytes = length * size_of(dtype);
      values.push_back(*rc::gen::container<std::vector<std::uint8_t>>(
          bytes, rc::gen::arbitrary<std::uint8_t>()));
      const BufferView input{device.allocate(bytes + 8, stream), 0, length, dtype};
      const BufferView output{device.allocate(bytes + 8, stream), 0, length, dtype};
      if (bytes != 0) stream.write(input, values.back().data());
      parts.push_back({input, output, &stream});
    }
    in_packs(std::make_shared<Identity>(), each)
        ->all_reduce({.parts = parts, .members = 1, .devices = &devices});
    for (std::size_t t = 0; t < parts.size(); ++t) {
      std::vector<std::uint8_t> read(values[t].size());
      if (!read.empty()) stream.read(read.data(), parts[t].output);
      stream.synchronize();
      RC_ASSERT(read == values[t]);
    }
  }
}

}  // namespace
}  // namespace belfry::packed_all_reduce_test
