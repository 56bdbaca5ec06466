// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms of reductions (SEM-146): sums in the order of the algorithm, to the last bit, over any
// number of replicas, with and without replicas that take no part.
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/masked_values.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::testing::algorithm_props {
namespace {

constexpr int kMostDevices = 9;

// The tensors of one reduction. Some replicas may take no part.
struct Batch {
  BackendRequest backend;
  std::vector<int> ids;            // The replicas that take part.
  std::vector<std::int64_t> rows;  // Rows of each tensor; tensors have three columns.
  std::uint64_t seed = 0;
  ReduceOp op = ReduceOp::kSum;
  bool in_place = false;  // Replicas keep no copy of their tensors.

  static constexpr std::int64_t kColumns = 3;

  template <class T>
  std::vector<T> values(int id, std::size_t tensor) const {
    const auto count = static_cast<std::size_t>(rows[tensor] * kColumns);
    return values_of<T>({Pattern::kRandom, seed + tensor}, id, count);
  }
  template <class T>
  std::vector<Tensor<T>> tensors(int id) const {
    std::vector<Tensor<T>> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.push_back(Tensor<T>::from({rows[i], kColumns}, values<T>(id, i)));
    }
    return all;
  }
  template <class T>
  std::vector<T> expected(std::size_t tensor, ReductionOrder order) const {
    std::vector<std::vector<T>> terms;
    for (const int id : ids) terms.push_back(values<T>(id, tensor));
    return expected_reduction(op, terms, order);
  }
};

template <class T>
Batch draw() {
  Batch batch;
  batch.backend = *backend_request(kMostDevices);
  batch.ids = some_of(batch.backend.devices);
  if (*rc::gen::arbitrary<bool>()) {
    batch.ids.clear();
    for (int id = 0; id < batch.backend.devices; ++id) batch.ids.push_back(id);
  }
  const int tensors = *rc::gen::inRange(1, 4);
  for (int i = 0; i < tensors; ++i) batch.rows.push_back(*rc::gen::inRange(0, 12));
  batch.seed = *rc::gen::arbitrary<std::uint16_t>();
  if (!std::is_integral_v<T> && *rc::gen::arbitrary<bool>()) batch.op = ReduceOp::kMean;
  batch.in_place = *rc::gen::arbitrary<bool>();
  return batch;
}

// Reduces the batch, and compares the result of every replica that takes part.
template <class T>
void check_batch(Backend& backend, const Batch& batch, const StrategyOptions& options,
                 ReductionOrder order) {
  MirroredStrategy strategy(backend, options);
  const auto mask = values_of_some(batch.ids, batch.backend.devices, [](int i) { return i; });
  const auto sums = strategy.run(
      [&](ReplicaContext& replica, int) {
        std::vector<Tensor<T>> own = batch.tensors<T>(replica.replica_id());
        std::vector<Tensor<T>> kept;
        if (!batch.in_place) kept = own;
        const auto reduced = replica.all_reduce(batch.op, std::move(own));
        std::vector<std::vector<T>> host;
        for (const Tensor<T>& tensor : reduced) {
          RC_ASSERT(tensor.placement() == replica.placement());
          host.push_back(tensor.to_host());
        }
        for (std::size_t i = 0; i < kept.size(); ++i) {
          const Numbers<T> before(batch.values<T>(replica.replica_id(), i));
          RC_ASSERT(Numbers<T>(kept[i].to_host()) == before);
        }
        return host;
      },
      mask);
  for (const auto& of_replica : sums) {
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      RC_ASSERT(Numbers<T>(of_replica[i]) == Numbers<T>(batch.expected<T>(i, order)));
    }
  }
}

template <class T>
class Algorithms : public Property {
 protected:
  /// Runs `check` over random batches, each on a backend of its own.
  template <class Check>
  void holds_for_batches(const Check& check) {
    this->holds([&] {
      const Batch batch = draw<T>();
      Bench bench(*this, batch.backend);
      bench.strategy().run(meet_with_a_tensor);  // Through the communicator.
      check(bench.backend(), batch);
    });
  }
};

using ElementTypes =
    ::testing::Types<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Algorithms, ElementTypes);

TYPED_TEST(Algorithms, AddInARing) {
  asserts("SEM-32", "SEM-33", "SEM-91", "SEM-146");
  this->holds_for_batches([](Backend& backend, const Batch& batch) {
    const auto ring = std::make_shared<RingAllReduce>();
    check_batch<TypeParam>(backend, batch, {.cross_device_ops = ring}, ReductionOrder::kRing);
    const StrategyOptions named{.order = ReductionOrder::kRing, .cross_device_ops = ring};
    check_batch<TypeParam>(backend, batch, named, ReductionOrder::kRing);
  });
}

TYPED_TEST(Algorithms, AddOnOneDeviceInEveryOrder) {
  asserts("SEM-32", "SEM-33", "SEM-91", "SEM-146");
  this->holds_for_batches([](Backend& backend, const Batch& batch) {
    const auto to_one = std::make_shared<ReductionToOneDevice>();
    check_batch<TypeParam>(backend, batch, {.cross_device_ops = to_one},
                           ReductionOrder::kReplicaOrder);
    for (const ReductionOrder order :
         {ReductionOrder::kReplicaOrder, ReductionOrder::kTree, ReductionOrder::kRing}) {
      check_batch<TypeParam>(backend, batch, {.order = order, .cross_device_ops = to_one}, order);
    }
  });
}

class NativeAlgorithm : public Property {};

TEST_F(NativeAlgorithm, AddsIntegersWhateverTheBackendsOrder) {
  asserts("SEM-35", "SEM-146");
  holds([this] {
    const Batch batch = draw<std::int32_t>();
    Bench bench(*this, batch.backend);
    const auto native = std::make_shared<NativeAllReduce>();
    // The communicator lacks an element type on some backends.
    check_batch<std::int32_t>(bench.backend(), batch, {.cross_device_ops = native},
                              ReductionOrder::kReplicaOrder);
    check_batch<std::int16_t>(bench.backend(), batch, {.cross_device_ops = native},
                              ReductionOrder::kReplicaOrder);
    bench.strategy().run(meet_with_a_tensor);
  });
}

// The right neighbour of a replica reads the replica's results until the end of the ring.
class RingResults : public Property {};

TEST_F(RingResults, MayBeOverwrittenAtOnce) {
  asserts("SEM-146");
  holds([this](const std::uint16_t seed) {
    const BackendRequest request = *backend_request(kMostDevices);
    Bench bench(*this, request);
    bench.strategy().run(meet_with_a_tensor);
    MirroredStrategy strategy(bench.backend(),
                              {.cross_device_ops = std::make_shared<RingAllReduce>()});
    const auto row = [&](int id) {
      return values_of<std::int32_t>({Pattern::kRandom, seed}, id, 20);
    };
    std::vector<std::vector<std::int32_t>> terms;
    for (int id = 0; id < request.devices; ++id) terms.push_back(row(id));
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const auto own = Tensor<std::int32_t>::from({20}, row(replica.replica_id()));
      Tensor<std::int32_t> sum = replica.all_reduce(ReduceOp::kSum, own);
      if (replica.replica_id() % 2 == 1) scale(sum, 0);
      return sum.to_host();
    });
    for (int id = 0; id < request.devices; ++id) {
      const auto expected = id % 2 == 1 ? std::vector<std::int32_t>(20, 0)
                                        : expected_reduction(ReduceOp::kSum, terms);
      RC_ASSERT(sums[id] == expected);
    }
  });
}

}  // namespace
}  // namespace belfry::testing::algorithm_props
