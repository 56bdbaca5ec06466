// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms of reductions (SEM-146): sums in the order of the algorithm, to the last bit, over any
// number of replicas, with and without replicas that take no part.
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/drawn_rows.h"
#include "suites/masked_values.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace belfry::testing::algorithm_props {
namespace {

constexpr int kMostDevices = 9;

// The tensors of one reduction. Some replicas may take no part.
struct Batch {
  DType dtype = DType::kFloat32;
  BackendRequest backend;
  std::vector<int> ids;            // The replicas that take part.
  std::vector<std::int64_t> rows;  // Rows of each tensor; tensors have three columns.
  std::uint64_t seed = 0;
  ReduceOp op = ReduceOp::kSum;
  bool in_place = false;  // Replicas keep no copy of their tensors.

  static constexpr std::int64_t kColumns = 3;

  DrawnRow row(int id, std::size_t tensor) const {
    const auto count = static_cast<std::size_t>(rows[tensor] * kColumns);
    return drawn_row(dtype, {Pattern::kRandom, seed + tensor}, id, count);
  }
  std::vector<DrawnRow> rows_of_replica(int id) const {
    std::vector<DrawnRow> all;
    for (std::size_t i = 0; i < rows.size(); ++i) all.push_back(row(id, i));
    return all;
  }
  DrawnNest tensors(int id) const {
    DrawnNest all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.push_back(tensor_leaf(row(id, i), {rows[i], kColumns}));
    }
    return all;
  }
  std::vector<DrawnRow> terms(std::size_t tensor) const {
    std::vector<DrawnRow> terms;
    for (const int id : ids) terms.push_back(row(id, tensor));
    return terms;
  }
};

Batch draw(DType dtype) {
  Batch batch;
  batch.dtype = dtype;
  batch.backend = *backend_request(kMostDevices);
  batch.ids = some_of(batch.backend.devices);
  if (*rc::gen::arbitrary<bool>()) {
    batch.ids.clear();
    for (int id = 0; id < batch.backend.devices; ++id) batch.ids.push_back(id);
  }
  const int tensors = *rc::gen::inRange(1, 4);
  for (int i = 0; i < tensors; ++i) batch.rows.push_back(*rc::gen::inRange(0, 12));
  batch.seed = *rc::gen::arbitrary<std::uint16_t>();
  batch.op = *rc::gen::element(ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin);
  if (batch.op == ReduceOp::kMean && !is_floating(dtype)) batch.op = ReduceOp::kProd;
  batch.in_place = *rc::gen::arbitrary<bool>();
  return batch;
}

// The tensors of a replica after the reduction.
std::vector<DrawnRow> reduced(ReplicaContext& replica, const Batch& batch) {
  DrawnNest own = batch.tensors(replica.replica_id());
  DrawnNest kept;
  if (!batch.in_place) kept = own;
  const DrawnNest sums = replica.all_reduce(batch.op, std::move(own));
  for (const Placement& place : placements_of(sums)) RC_ASSERT(place == replica.placement());
  if (!batch.in_place) RC_ASSERT(rows_of(kept) == batch.rows_of_replica(replica.replica_id()));
  return rows_of(sums);
}

// Reduces the batch, and compares the result of every replica that takes part with `expected`.
void check_results(Backend& backend, const Batch& batch, const StrategyOptions& options,
                   const std::vector<DrawnRow>& expected) {
  MirroredStrategy strategy(backend, options);
  const auto mask = values_of_some(batch.ids, batch.backend.devices, [](int i) { return i; });
  const auto sums =
      strategy.run([&](ReplicaContext& replica, int) { return reduced(replica, batch); }, mask);
  for (const std::vector<DrawnRow>& of_replica : sums) RC_ASSERT(of_replica == expected);
}

void check_order(Backend& backend, const Batch& batch, const StrategyOptions& options,
                 ReductionOrder order) {
  std::vector<DrawnRow> expected;
  for (std::size_t tensor = 0; tensor < batch.rows.size(); ++tensor) {
    expected.push_back(expected_reduction(batch.op, batch.terms(tensor), order));
  }
  check_results(backend, batch, options, expected);
}

// Any of the algorithms that carry out plans, with options that fit all or only some numbers of
// members.
std::shared_ptr<CrossDeviceOps> draw_planned(int devices) {
  switch (*rc::gen::inRange(0, 8)) {
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
    case 5:
      return std::make_shared<RingAllReduce>();
    case 6:
      return std::make_shared<ReductionToOneDevice>();
    default: {
      RingOptions options{.subchunks = *rc::gen::inRange(1, devices + 1),
                          .start = *rc::gen::inRange(0, 4)};
      for (int id = 0; id < devices; ++id) options.permutation.push_back((id * 5 + 1) % devices);
      if (devices % 5 == 0) options.permutation.clear();
      return std::make_shared<RingAllReduce>(options);
    }
  }
}

void add_as_planned(Backend& backend, const Batch& batch) {
  const auto algorithm = draw_planned(batch.backend.devices);
  const ReductionPlan plan = algorithm->plan(static_cast<int>(batch.ids.size())).value();
  std::vector<DrawnRow> expected;
  for (std::size_t tensor = 0; tensor < batch.rows.size(); ++tensor) {
    expected.push_back(planned_reduction(batch.op, batch.terms(tensor), plan));
  }
  check_results(backend, batch, {.cross_device_ops = algorithm}, expected);
}

class OfBatches : public Property {
 protected:
  // Runs `check` over random batches, each on a backend of its own.
  void holds_for_batches(DType dtype, void (*check)(Backend&, const Batch&)) {
    holds([&] {
      const Batch batch = draw(dtype);
      Bench bench(*this, batch.backend);
      bench.strategy().run(meet_with_a_tensor);  // Through the communicator.
      check(bench.backend(), batch);
    });
  }
};

template <class T>
class Algorithms : public OfBatches {};

using ElementTypes =
    ::testing::Types<float, double, Float16, BFloat16, std::int8_t, std::int16_t, std::int32_t,
                     std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Algorithms, ElementTypes);

TYPED_TEST(Algorithms, AddAsTheirPlansState) {
  asserts("SEM-32", "SEM-33", "SEM-91");
  asserts("SEM-146", "SEM-147");
  this->holds_for_batches(dtype_of<TypeParam>(), add_as_planned);
}

class NativeAlgorithm : public Property {};

TEST_F(NativeAlgorithm, AddsIntegersWhateverTheBackendsOrder) {
  asserts("SEM-35", "SEM-146");
  holds([this] {
    Batch batch = draw(DType::kInt32);
    Bench bench(*this, batch.backend);
    const auto native = std::make_shared<NativeAllReduce>();
    // The communicator lacks an element type on some backends.
    for (const DType dtype : {DType::kInt32, DType::kInt16}) {
      batch.dtype = dtype;
      check_order(bench.backend(), batch, {.cross_device_ops = native},
                  ReductionOrder::kReplicaOrder);
    }
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
