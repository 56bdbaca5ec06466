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
  std::vector<std::vector<T>> terms(std::size_t tensor) const {
    std::vector<std::vector<T>> terms;
    for (const int id : ids) terms.push_back(values<T>(id, tensor));
    return terms;
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

// Reduces the batch, and compares the result of every replica that takes part with
// `expected(tensor)`.
template <class T, class Expected>
void check_results(Backend& backend, const Batch& batch, const StrategyOptions& options,
                   const Expected& expected) {
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
      RC_ASSERT(Numbers<T>(of_replica[i]) == Numbers<T>(expected(i)));
    }
  }
}

template <class T>
void check_batch(Backend& backend, const Batch& batch, const StrategyOptions& options,
                 ReductionOrder order) {
  check_results<T>(backend, batch, options, [&](std::size_t tensor) {
    return expected_reduction(batch.op, batch.terms<T>(tensor), order);
  });
}

// The additions that a plan states, element by element, with one division and one rounding.
template <class T>
std::vector<T> result_of(const ReductionPlan& plan, ReduceOp op,
                         const std::vector<std::vector<T>>& rows) {
  const std::vector<std::size_t> begins = plan.chunk_begins(rows.front().size());
  std::vector<T> result;
  for (int chunk = 0; chunk < plan.chunks; ++chunk) {
    const AdditionTree tree = plan.additions(chunk);
    const auto c = static_cast<std::size_t>(chunk);
    for (std::size_t i = begins[c]; i < begins[c + 1]; ++i) {
      std::vector<Wide<T>> inputs;
      for (const std::vector<T>& row : rows) inputs.push_back(widened(row[i]));
      Wide<T> sum = sum_of_tree(tree, inputs);
      if (op == ReduceOp::kMean) sum /= static_cast<Wide<T>>(rows.size());
      result.push_back(narrowed<T>(sum));
    }
  }
  return result;
}

// Any of the algorithms that carry out plans, with options that fit all or only some numbers of
// members.
std::shared_ptr<CrossDeviceOps> draw_planned(int devices) {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return std::make_shared<TreeAllReduce>();
    case 1:
      return std::make_shared<HalvingDoublingAllReduce>();
    case 2:
      return std::make_shared<ShuffleAllReduce>(*rc::gen::inRange(0, 12));
    case 3:
      return std::make_shared<HierarchicalAllReduce>();
    case 4: {
      std::vector<std::vector<int>> groups(1);
      for (int id = 0; id < devices; ++id) {
        if (!groups.back().empty() && *rc::gen::arbitrary<bool>()) groups.emplace_back();
        groups.back().push_back(id);
      }
      return std::make_shared<HierarchicalAllReduce>(groups);
    }
    default: {
      RingOptions options{.subchunks = *rc::gen::inRange(1, devices + 1),
                          .start = *rc::gen::inRange(0, 4)};
      for (int id = 0; id < devices; ++id) options.permutation.push_back((id * 5 + 1) % devices);
      if (devices % 5 == 0) options.permutation.clear();
      return std::make_shared<RingAllReduce>(options);
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

TYPED_TEST(Algorithms, AddAsTheirPlansState) {
  asserts("SEM-33", "SEM-91", "SEM-147");
  this->holds_for_batches([](Backend& backend, const Batch& batch) {
    const auto algorithm = draw_planned(batch.backend.devices);
    const ReductionPlan plan = algorithm->plan(static_cast<int>(batch.ids.size())).value();
    check_results<TypeParam>(backend, batch, {.cross_device_ops = algorithm},
                             [&](std::size_t tensor) {
                               return result_of(plan, batch.op, batch.terms<TypeParam>(tensor));
                             });
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

// Other members read the results of a member until the end of the last step.
class Results : public Property {};

TEST_F(Results, MayBeOverwrittenAtOnce) {
  asserts("SEM-146");
  holds([this](const std::uint16_t seed) {
    const BackendRequest request = *backend_request(kMostDevices);
    Bench bench(*this, request);
    bench.strategy().run(meet_with_a_tensor);
    MirroredStrategy strategy(bench.backend(), {.cross_device_ops = draw_planned(request.devices)});
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
