// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of tensors that processes exchange in parts (SEM-220), against one strategy with all
// replicas. The groups of threads exchange tensors in parts from 256 bytes on. Shorter tensors, and
// all tensors in ring order, are sent whole and combined by the host.
#include "belfry/backend/device.h"
#include "belfry/backend/host_visible.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/testing/thread_group.h"
#include "belfry/testing/values.h"
#include "processes/two_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing::parts {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct Case {
  std::vector<int> devices;         // Of each process.
  std::vector<std::int64_t> sizes;  // Of each tensor.
  Values values;
  ReduceOp op = ReduceOp::kSum;
  std::optional<ReductionOrder> order;
  bool on_host = false;  // The backend of the host, in place of the simulator.

  int replicas() const { return std::accumulate(devices.begin(), devices.end(), 0); }
};

// The bytes of all results of a replica.
using Bits = std::vector<std::byte>;

template <class T>
Bits reduce_on(ReplicaContext& replica, const Case& drawn) {
  std::vector<Tensor<T>> tensors;
  for (std::size_t i = 0; i < drawn.sizes.size(); ++i) {
    const Values values{drawn.values.pattern, drawn.values.seed + i};
    const auto count = static_cast<std::size_t>(drawn.sizes[i]);
    tensors.push_back(Tensor<T>::from(Shape({drawn.sizes[i]}),
                                      values_of<T>(values, replica.replica_id(), count)));
  }
  Bits bits;
  for (const Tensor<T>& sum : replica.all_reduce(drawn.op, tensors)) {
    const std::vector<T> elements = sum.to_host();
    const auto* const begin = reinterpret_cast<const std::byte*>(elements.data());
    bits.insert(bits.end(), begin, begin + elements.size() * sizeof(T));
  }
  return bits;
}

template <class T>
std::vector<Bits> run_on(Strategy& strategy, const Case& drawn) {
  const PerReplica<Bits> own =
      strategy.run([&](ReplicaContext& replica) { return reduce_on<T>(replica, drawn); });
  return {own.begin(), own.end()};
}

template <class T>
void expect_equal_bits(const Case& drawn) {
  sim::Backend whole{{.devices = drawn.replicas(), .seed = 3}};
  MirroredStrategy alone{whole, {.order = drawn.order}};
  const Bits expected = run_on<T>(alone, drawn).front();
  std::vector<std::vector<Bits>> found(drawn.devices.size());
  run_processes(static_cast<int>(drawn.devices.size()), [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    HostBackend on_host{drawn.devices[rank]};
    sim::Backend simulated{{.devices = drawn.devices[rank], .seed = 7}};
    Backend& backend = drawn.on_host ? static_cast<Backend&>(on_host) : simulated;
    MultiWorkerMirroredStrategy strategy{backend, group, {.order = drawn.order}};
    found[rank] = run_on<T>(strategy, drawn);
  });
  for (const std::vector<Bits>& process : found) {
    for (const Bits& bits : process) RC_ASSERT(bits == expected);
  }
}

Case any_case(bool is_floating) {
  Case drawn;
  const int processes = *rc::gen::inRange(1, 5);
  const auto devices = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, 4));
  drawn.devices =
      *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(processes), devices);
  const auto size =
      rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5), rc::gen::inRange<std::int64_t>(0, 200));
  drawn.sizes = *rc::gen::container<std::vector<std::int64_t>>(
      static_cast<std::size_t>(*rc::gen::inRange(1, 4)), size);
  // The order of additions shows in random elements.
  const auto pattern = rc::gen::oneOf(rc::gen::just(static_cast<int>(Pattern::kRandom)),
                                      rc::gen::inRange(0, kNumPatterns));
  drawn.values = {static_cast<Pattern>(*pattern), *rc::gen::inRange<std::uint64_t>(0, 1000)};
  if (is_floating && *rc::gen::arbitrary<bool>()) drawn.op = ReduceOp::kMean;
  const int order = *rc::gen::inRange(0, 4);
  if (order > 0) drawn.order = static_cast<ReductionOrder>(order - 1);
  drawn.on_host = *rc::gen::arbitrary<bool>();
  return drawn;
}

RC_GTEST_PROP(Parts, GiveTheBitsOfOneStrategyWithAllReplicas, ()) {
  testing::asserts("SEM-220");
  const int type = *rc::gen::inRange(0, 6);
  const Case drawn = any_case(type < 4);
  switch (type) {
    case 0:
      return expect_equal_bits<float>(drawn);
    case 1:
      return expect_equal_bits<double>(drawn);
    case 2:
      return expect_equal_bits<Float16>(drawn);
    case 3:
      return expect_equal_bits<BFloat16>(drawn);
    case 4:
      return expect_equal_bits<std::int8_t>(drawn);
    default:
      return expect_equal_bits<std::uint64_t>(drawn);
  }
}

// Process 0 has the replicas 0 and 1, process 1 the replicas 2 and 3. The sum of 1000 elements
// i + r over r = 0 to 3 is 4 i + 6.
TEST(Parts, AddLongTensorsOnEveryDevice) {
  testing::asserts("SEM-220");
  with_strategies([](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) {
    const auto sums = strategy.run([](ReplicaContext& replica) {
      std::vector<int> own(1000);
      std::iota(own.begin(), own.end(), replica.replica_id());
      const auto tensor = Tensor<int>::from(Shape({1000}), own);
      const auto sum = replica.all_reduce(ReduceOp::kSum, tensor);
      EXPECT_EQ(tensor.to_host(), own);
      EXPECT_EQ(sum.placement().device, replica.replica_id() % 2);
      return sum.to_host();
    });
    for (const std::vector<int>& sum : sums) {
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(sum[static_cast<std::size_t>(i)], 4 * i + 6);
    }
  });
}

// Outside of replicas, with a tensor beside a number in one value.
TEST(Parts, AddValuesOfTheCrossReplicaContext) {
  testing::asserts("SEM-220");
  with_strategies([](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    using Pair = std::pair<Tensor<float>, double>;
    for (const std::int64_t count : {3, 300}) {
      const auto values = strategy.run([count](ReplicaContext& replica) {
        const auto number = static_cast<float>(replica.replica_id());
        return Pair{Tensor<float>::full({count}, number), 0.5};
      });
      const auto means = strategy.cross_replica().reduce(ReduceOp::kMean, values);
      for (const int position : {0, 1}) {
        const auto& [tensor, number] = means[2 * group.rank() + position];
        EXPECT_THAT(tensor.to_host(), Each(1.5F));  // (0 + 1 + 2 + 3) / 4
        EXPECT_EQ(tensor.placement().device, position);
        EXPECT_EQ(number, 0.5);
      }
    }
  });
}

TEST(Parts, OfATensorThatCannotBeComputedFailInEveryProcess) {
  testing::asserts("SEM-154", "SEM-220");
  at_each_place(8, [](int place) {
    const int odd = place / 2;
    const std::int64_t count = place % 2 == 0 ? 5 : 500;
    const auto texts = texts_of_run<Error>([&](ReplicaContext& replica) {
      const auto table = Tensor<float>::zeros({2, 4});
      const int row = replica.replica_id() == odd ? 2 : 1;
      const auto rows = gather_rows(table, Tensor<int>::full({count}, row));
      replica.all_reduce(ReduceOp::kSum, rows);
    });
    const auto reason = HasSubstr("indices[0] is 2, and the table has 2 rows");
    const bool is_first = odd < 2;
    const std::string failed = std::string("BF-071 process ") + (is_first ? "0" : "1") + " failed";
    EXPECT_THAT(texts[0], AllOf(HasSubstr(is_first ? "BF-061" : failed), reason));
    EXPECT_THAT(texts[1], AllOf(HasSubstr(is_first ? failed : "BF-061"), reason));
  });
}

// 63 floats are too short for parts, and 64 are not.
TEST(Parts, OfDifferentShapesMoveNoElement) {
  testing::asserts("SEM-36", "SEM-220");
  at_each_place(4, [](int odd) {
    for (const std::int64_t count : {2, 63, 1000}) {
      const auto texts = texts_of_run<StructureMismatchError>([&](ReplicaContext& replica) {
        const std::int64_t own = replica.replica_id() == odd ? count + 1 : count;
        replica.all_reduce(ReduceOp::kSum, Tensor<float>::zeros({own}));
      });
      const std::string other = "float32[" + std::to_string(count + 1) + "]";
      EXPECT_THAT(texts, Each(AllOf(HasSubstr("BF-020"), HasSubstr(other))));
    }
  });
}

// If a replica is absent, all processes send the elements of their tensors.
TEST(Parts, AreSentWholeIfAReplicaTakesNoPart) {
  testing::asserts("SEM-220");
  at_each_place(6, [](int absent) {
    std::vector<std::optional<float>> values{1, 2, 3, 4, 5, 6};
    values[static_cast<std::size_t>(absent)] = std::nullopt;
    run_processes(3, [&](ProcessGroup& group) {
      sim::Backend backend{{.devices = 2}};
      MultiWorkerMirroredStrategy strategy{backend, group};
      const auto sums = strategy.run(
          [](ReplicaContext& replica, float own) {
            return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({100}, own)).to_host();
          },
          PerReplica<float>::from(values));
      EXPECT_THAT(sums, Each(Each(20 - absent)));  // 21 without 1 + absent.
    });
  });
}

// The host fills a buffer, a stream copies the buffer, and the host reads the work of the stream.
TEST(Parts, UseTheMemoryOfDevicesInPlace) {
  testing::asserts("SEM-220");
  sim::Backend simulated{{.devices = 1, .seed = 5}};
  HostBackend on_host{1};
  for (Backend* const backend :
       {static_cast<Backend*>(&simulated), static_cast<Backend*>(&on_host)}) {
    Device& device = backend->device(0);
    Stream& stream = device.compute_stream();
    auto& visible = dynamic_cast<HostVisibleDevice&>(device);
    const BufferView filled = view_of(device.allocate(3 * sizeof(int), stream), DType::kInt32);
    const BufferView copied = view_of(device.allocate(3 * sizeof(int), stream), DType::kInt32);
    const std::vector<int> first{4, 5, 6};
    const std::vector<int> second{7, 8, 9};
    std::memcpy(visible.fill_in_place(filled), first.data(), filled.bytes());
    stream.copy(copied, filled);
    stream.write(filled, second.data());
    EXPECT_EQ(std::memcmp(visible.read_in_place(copied), first.data(), copied.bytes()), 0);
    EXPECT_EQ(std::memcmp(visible.read_in_place(filled), second.data(), filled.bytes()), 0);
    EXPECT_EQ(visible.read_in_place({filled.buffer, 0, 0, DType::kInt32}), nullptr);
    const BufferView late{filled.buffer, 2 * sizeof(int), 1, DType::kInt32};
    EXPECT_EQ(std::memcmp(visible.read_in_place(late), &second[2], sizeof(int)), 0);
  }
  Device& device = simulated.device(0);
  const BufferView never = view_of(device.allocate(4, device.compute_stream()), DType::kInt32);
  EXPECT_THROW(dynamic_cast<HostVisibleDevice&>(device).read_in_place(never), DeviceError);
}

}  // namespace
}  // namespace belfry::testing::parts
