// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// How often reductions of many tensors call NCCL and CUDA: all tensors of a reduction are one group
// of NCCL, and streams wait once for all of them.
#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace belfry::cuda::grouped_calls_test {
namespace {

// Calls of NCCL and CUDA during a reduction.
struct Calls {
  std::uint64_t starts = 0;
  std::uint64_t ends = 0;
  std::uint64_t reductions = 0;
  std::uint64_t waits = 0;

  static Calls of(const sim::SimulatedDriver& machine) {
    return {machine.calls("ncclGroupStart"), machine.calls("ncclGroupEnd"),
            machine.calls("ncclAllReduce"), machine.calls("cudaStreamWaitEvent")};
  }
  Calls since(const Calls& before) const {
    return {starts - before.starts, ends - before.ends, reductions - before.reductions,
            waits - before.waits};
  }
};

// `gpus` has the GPU of each replica. Replica r has `tensors` tensors of two elements, r + t and 1.
template <class T = float>
class Reduction {
 public:
  explicit Reduction(std::vector<int> gpus, std::shared_ptr<CrossDeviceOps> algorithm = nullptr)
      : machine_({.gpus = gpus.back() + 1}),
        backend_({.devices = gpus}),
        strategy_(backend_, {.cross_device_ops = std::move(algorithm)}),
        replicas_(static_cast<int>(gpus.size())) {
    sums(1);  // Makes the communicator.
  }

  // The calls of one reduction of `tensors` tensors, whose sums or means are checked.
  Calls calls(int tensors, ReduceOp op = ReduceOp::kSum) {
    const Calls before = Calls::of(machine_);
    sums(tensors, op);
    return Calls::of(machine_).since(before);
  }
  ~Reduction() { EXPECT_EQ(machine_.reports(), std::vector<std::string>{}); }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

 private:
  void sums(int tensors, ReduceOp op = ReduceOp::kSum) {
    const auto results = strategy_.run([&](ReplicaContext& replica) {
      std::vector<Tensor<T>> mine;
      for (int t = 0; t < tensors; ++t) {
        mine.push_back(
            Tensor<T>::from({2}, {T(static_cast<float>(replica.replica_id() + t)), T(1.0F)}));
      }
      return replica.all_reduce(op, mine);
    });
    const int divisor = op == ReduceOp::kMean ? replicas_ : 1;
    for (const std::vector<Tensor<T>>& own : results) {
      for (int t = 0; t < tensors; ++t) {
        // 0 + 1 + ... + (N - 1) and N times t.
        const int sum = replicas_ * (replicas_ - 1) / 2 + replicas_ * t;
        const auto found = own[static_cast<std::size_t>(t)].to_host();
        EXPECT_EQ(static_cast<float>(found[0]),
                  static_cast<float>(sum) / static_cast<float>(divisor));
        EXPECT_EQ(static_cast<float>(found[1]), static_cast<float>(replicas_ / divisor));
      }
    }
  }

  sim::SimulatedDriver machine_;
  Backend backend_;
  MirroredStrategy strategy_;
  int replicas_;
};

void expect_one_group(const Calls& calls, int reductions) {
  EXPECT_EQ(calls.starts, 1U);
  EXPECT_EQ(calls.ends, 1U);
  EXPECT_EQ(calls.reductions, static_cast<std::uint64_t>(reductions));
}

TEST(GroupedCalls, HaveAllTensorsOfAReduction) {
  Reduction reduction({0, 1, 2, 3});
  for (const int tensors : {1, 2, 100}) expect_one_group(reduction.calls(tensors), 4 * tensors);
}

TEST(GroupedCalls, HaveAllMeansAndAllWidenedHalves) {
  Reduction<Float16> halves({0, 1});
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    expect_one_group(halves.calls(50, op), 100);
  }
}

// 100 tensors of 8 bytes: one pack, or ten packs of 80 bytes.
TEST(GroupedCalls, HaveAllPacksOfAReduction) {
  for (const std::int64_t bytes : {0, 80}) {
    Reduction reduction({0, 1, 2},
                        in_packs(std::make_shared<NativeAllReduce>(), {.bytes_per_pack = bytes}));
    expect_one_group(reduction.calls(100), bytes == 0 ? 3 : 30);
  }
}

// Two replicas on each of two GPUs: NCCL reduces among two leaders.
TEST(GroupedCalls, HaveAllSumsOfReplicasThatShareGpus) {
  Reduction reduction({0, 0, 1, 1});
  const Calls one = reduction.calls(1);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    const Calls calls = reduction.calls(60, op);
    expect_one_group(calls, 120);
    EXPECT_EQ(calls.waits, one.waits) << "streams wait once for all tensors";
  }
}

TEST(GroupedCalls, WaitOnceOnOneGpu) {
  Reduction reduction({0, 0, 0});
  const Calls one = reduction.calls(1);
  const Calls many = reduction.calls(60);
  EXPECT_EQ(many.waits, one.waits);
  EXPECT_EQ(many.starts, 0U);
}

}  // namespace
}  // namespace belfry::cuda::grouped_calls_test
