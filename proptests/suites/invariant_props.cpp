// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Invariants without a suite of their own. docs/semantics.md lists all invariants with their tests.
#include "belfry/current.h"
#include "suites/one_replica.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace belfry::testing::invariant_props {
namespace {

using Row = std::vector<float>;

class Invariants : public Property {};

constexpr std::size_t kLength = 6;

template <class T>
Tensor<T> tensor_of(const std::vector<T>& row) {
  return Tensor<T>::from({static_cast<std::int64_t>(row.size())}, row);
}

template <class T>
std::vector<std::vector<T>> rows_of(int replicas, const Values& values) {
  std::vector<std::vector<T>> rows;
  for (int id = 0; id < replicas; ++id) rows.push_back(values_of<T>(values, id, kLength));
  return rows;
}

template <class T>
std::vector<T> reduced(Strategy& strategy, ReduceOp op, const std::vector<std::vector<T>>& rows) {
  const auto tensors = strategy.run([&](ReplicaContext& replica) {
    return tensor_of(rows[static_cast<std::size_t>(replica.replica_id())]);
  });
  const auto sums = strategy.cross_replica().reduce(op, tensors);
  // A process without devices has no component.
  return strategy.worker_devices().empty() ? std::vector<T>() : sums.value().to_host();
}

// |a - b| within `steps` roundings of numbers as large as the sum of all magnitudes.
bool are_close(const Row& a, const Row& b, const std::vector<Row>& rows, int steps) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    double magnitude = 0;
    for (const Row& row : rows) magnitude += std::abs(static_cast<double>(row[i]));
    const double allowed = steps * magnitude * std::numeric_limits<float>::epsilon();
    if (!(std::abs(static_cast<double>(a[i]) - b[i]) <= allowed)) return false;
  }
  return true;
}

// A sum of N terms is rounded N - 1 times in every order: two sums are at most 2 (N - 1) roundings
// apart. A mean is rounded once more, and the product that makes a sum of the mean again is rounded
// too.
TEST_F(Invariants, Inv10_SumsDoNotDependOnReplicasAndMeansTimesNAreSums) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const int count = request.devices;
    const auto order = *rc::gen::exec([&] {
      std::vector<std::size_t> ids(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
      for (std::size_t i = ids.size(); i > 1; --i) {
        std::swap(ids[i - 1], ids[*rc::gen::inRange<std::size_t>(0, i)]);
      }
      return ids;
    });
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto permuted = [&](const auto& rows) {
      auto out = rows;
      for (std::size_t i = 0; i < order.size(); ++i) out[i] = rows[order[i]];
      return out;
    };
    const auto reals = rows_of<float>(count, {Pattern::kRandom, seed});
    const Row sum = reduced(strategy, ReduceOp::kSum, reals);
    RC_ASSERT(
        are_close(sum, reduced(strategy, ReduceOp::kSum, permuted(reals)), reals, 2 * (count - 1)));
    Row product = reduced(strategy, ReduceOp::kMean, reals);
    for (float& x : product) x *= static_cast<float>(count);
    RC_ASSERT(are_close(product, sum, reals, 2 * (count - 1) + 2));
    const auto integers = rows_of<std::int32_t>(count, {Pattern::kRandom, seed});
    auto exact = expected_reduction(ReduceOp::kSum, integers);
    if (bench.own().empty()) exact.clear();
    RC_ASSERT(reduced(strategy, ReduceOp::kSum, integers) == exact);
    RC_ASSERT(reduced(strategy, ReduceOp::kSum, permuted(integers)) == exact);
  });
}

TEST_F(Invariants, Inv12_TheSliceOfAllGatherIsTheReplicasOwnValue) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const auto lengths = *rc::gen::container<std::vector<std::size_t>>(
        static_cast<std::size_t>(request.devices), rc::gen::inRange<std::size_t>(0, 4));
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto same = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      const auto id = static_cast<std::size_t>(replica.replica_id());
      const Row own =
          values_of<float>({Pattern::kSpecials, seed}, replica.replica_id(), lengths[id]);
      std::size_t begin = 0;
      for (std::size_t other = 0; other < id; ++other) begin += lengths[other];
      const auto is_own = [&](const Row& all) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
        return same_numbers(Row(first, first + static_cast<std::ptrdiff_t>(own.size())), own);
      };
      return is_own(replica.all_gather(own)) &&
             is_own(replica.all_gather(tensor_of(own)).to_host());
    });
    for (bool one : same) RC_ASSERT(one);
  });
}

TEST_F(Invariants, Inv14_OneReplicaObeysTheRulesOfMany) {
  holds([this](const ReplicaProgram& program, bool random) {
    BackendRequest request = devices(1);
    request.schedule = random ? ScheduleKind::kRandom : ScheduleKind::kFixed;
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    strategy.run([](ReplicaContext& replica) {
      replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1.0F)).to_host();
    });
    Bench more(*this, devices(3));
    const auto codes = codes_of_mistakes(more.strategy());
    RC_ASSERT(std::count(codes.begin(), codes.end(), ErrorCode::kInternal) == 0);
    RC_ASSERT(obeys_the_model(strategy, program));
    RC_ASSERT(codes_of_mistakes(strategy) == codes);
  });
}

// For other data the sum of N equal numbers may be rounded, and the mean is then a different
// number.
TEST_F(Invariants, Inv15_TheMeanOfEqualExactValuesIsThatValue) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    const int exponent = *rc::gen::inRange(-20, 20);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    Row value = values_of<float>({Pattern::kSmallIntegers, seed}, 0, kLength);
    for (float& x : value) x = std::ldexp(x, exponent);
    const VariableOptions mean{.aggregation = Aggregation::kMean};
    const auto on_host = strategy.mirrored_variable(Row(kLength), mean);
    const auto on_device = strategy.mirrored_variable([] { return tensor_of(Row(kLength)); }, mean);
    const auto local = strategy.replica_local_variable(ReduceOp::kMean, Row(kLength));
    strategy.run([&](ReplicaContext& replica) {
      replica.assign(on_host, value);
      replica.assign(on_device, tensor_of(value));
      replica.assign(local, value);
      meet_with_a_tensor(replica);
    });
    for (const Row& one : strategy.local_values(on_host)) RC_ASSERT(Numbers(one) == Numbers(value));
    for (const auto& one : strategy.local_values(on_device)) {
      RC_ASSERT(Numbers(one.to_host()) == Numbers(value));
    }
    RC_ASSERT(Numbers(strategy.read(local)) == Numbers(value));
  });
}

}  // namespace
}  // namespace belfry::testing::invariant_props
