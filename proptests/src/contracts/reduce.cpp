// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-reduce: reductions of every type, in every order, against loops over plain vectors.
#include "belfry/testing/nest_shapes.h"
#include "contracts/element_rows.h"
#include "suites/sum_in_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

namespace belfry::testing {
namespace {

/// The result for an element; `chunk` is where a ring starts.
template <class T>
T folded(ReduceOp op, const std::vector<T>& parts, ReductionOrder order, std::size_t chunk) {
  using W = Wide<T>;
  if (op == ReduceOp::kMax) return *std::ranges::max_element(parts);
  if (op == ReduceOp::kMin) return *std::ranges::min_element(parts);
  if (op == ReduceOp::kProd) {
    std::vector<Factor<W>> factors;
    for (const T part : parts) factors.push_back({static_cast<W>(part)});
    return static_cast<T>(sum_in_order(factors, order, chunk).value);
  }
  std::vector<W> terms;
  for (const T part : parts) terms.push_back(static_cast<W>(part));
  W sum = sum_in_order(terms, order, chunk);
  if (op == ReduceOp::kMean) sum /= static_cast<W>(parts.size());
  return static_cast<T>(sum);
}

template <class T>
std::vector<T> folded(ReduceOp op, const RowsOf<T>& rows, ReductionOrder order) {
  const std::size_t replicas = rows.size();
  const std::size_t length = rows.front().size();
  const std::size_t chunk = (length + replicas - 1) / replicas;
  std::vector<T> reduced;
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<T> parts;
    for (const std::vector<T>& row : rows) parts.push_back(row[i]);
    reduced.push_back(folded(op, parts, order, i / chunk));
  }
  return reduced;
}

/// A reduction of a row and of a tensor of each replica.
template <class T>
struct Reduction {
  ReduceOp op;
  Shape shape;
  RowsOf<T> rows;
  std::vector<T> wanted;
  Slack slack;

  std::string named(const char* what) const {
    return to_string(op) + " of " + what + " of " + to_string(dtype_of<T>());
  }
  std::string note(const char* what, int replica, const std::vector<T>& got) const {
    if (is_close(got, wanted, slack)) return {};
    return named(what) + " gave " + replica_text(replica) + ' ' + text_of(got) + ", not " +
           text_of(wanted);
  }
  std::string note(const char* what, ReplicaContext& replica, const Tensor<T>& got) const {
    const int id = replica.replica_id();
    if (got.shape() != shape) return named(what) + " gave " + replica_text(id) + " another shape";
    if (!lives_at(got, replica.placement())) {
      return named(what) + " left that of " + replica_text(id) + " on another device";
    }
    return note(what, id, got.to_host());
  }
  // The mistakes that `replica` finds.
  std::string operator()(ReplicaContext& replica) const {
    const int id = replica.replica_id();
    const std::vector<T>& own = rows[static_cast<std::size_t>(id)];
    const auto tensor = Tensor<T>::from(shape, own);
    const auto on_host = replica.all_reduce(op, own);
    const Tensor<T> on_device = replica.all_reduce(op, tensor);
    const auto [merged_host, merged_device] = replica.merge_call(
        [by = op](CrossReplicaContext& cross, const PerReplica<std::vector<T>>& all,
                  const PerReplica<Tensor<T>>& tensors) {
          return std::pair(cross.reduce(by, all), cross.reduce(by, tensors));
        },
        own, tensor);
    std::string found = note("host rows", id, on_host);
    if (found.empty()) found = note("tensors", replica, on_device);
    if (found.empty()) found = note("host rows in a merge", id, merged_host);
    if (found.empty()) found = note("tensors in a merge", replica, merged_device);
    if (found.empty() && !same_bits(tensor.to_host(), own)) {
      found = to_string(op) + " changed what " + replica_text(id) + " had brought";
    }
    return found;
  }
};

/// Nothing: the strategy may take any.
struct AskedOrder {
  std::optional<ReductionOrder> order{};
};
void showValue(const AskedOrder& asked, std::ostream& out) {
  out << (asked.order ? to_string(*asked.order) : "none");
}

AskedOrder draw_order() {
  const auto nth = [](int number) {
    if (number == 0) return AskedOrder{};
    return AskedOrder{static_cast<ReductionOrder>(number - 1)};
  };
  return *rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 4)), nth)
              .as("order asked for");
}

/// Data with the same sum in every order, if no order was asked for.
template <class T>
Pattern pattern_for(const AskedOrder& asked, int replicas) {
  if (asked.order || std::is_integral_v<T>) return Pattern::kRandom;
  // Partial sums may be rounded on the way: bfloat16 has the integers up to 2^8.
  const bool fits = sizeof(T) > 2 || replicas <= 32;
  return fits ? Pattern::kSmallIntegers : Pattern::kOnes;
}

constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax, ReduceOp::kMin,
                             ReduceOp::kProd};

/// Products of these are the same in every order.
template <class T>
RowsOf<T> powers_of_two(RowsOf<T> rows) {
  for (std::vector<T>& row : rows) {
    for (T& x : row) x = static_cast<T>(x < T() ? -2.0F : 1.0F);
  }
  return rows;
}

template <class T>
void check_type(Strategy& strategy, const AskedOrder& asked, const Shape& shape, std::uint64_t seed,
                double tolerance) {
  const int replicas = strategy.num_replicas();
  const auto rows = rows_of<T>({pattern_for<T>(asked, replicas), seed}, replicas, shape);
  const auto order = asked.order.value_or(ReductionOrder::kReplicaOrder);
  for (const ReduceOp op : kOps) {
    if (op == ReduceOp::kMean && std::is_integral_v<T>) continue;
    const bool is_product = op == ReduceOp::kProd && !asked.order && !std::is_integral_v<T>;
    const RowsOf<T> own = is_product ? powers_of_two(rows) : rows;
    demand_nothing(strategy.run(
        Reduction<T>{op, shape, own, folded(op, own, order), slack_of(tolerance, op, own)}));
  }
}

// Also where a comparison of numbers would drop the NaN.
void check_nan(Strategy& strategy) {
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    demand_nothing(strategy.run([op](ReplicaContext& replica) -> std::string {
      constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
      const float own = replica.replica_id() == 0 ? kNan : 1.0F;
      const float on_host = replica.all_reduce(op, own);
      const Row on_device = replica.all_reduce(op, tensor_of({own})).to_host();
      const bool spreads = std::isnan(on_host) && std::isnan(on_device[0]);
      return spreads ? "" : to_string(op) + " of a NaN and numbers is no NaN";
    }));
  }
}

// Leaves of many types and lengths at once. They are small integers: any order gives their sums.
// Without exact values, the nests need only have the leaves of the wanted nest.
void check_nests(Strategy& strategy, const NestShape& shape, std::uint64_t seed, bool is_exact) {
  const auto same = [is_exact](const SampleNest& got, const SampleNest& wanted) {
    return is_exact ? same_bits(got, wanted) : describe_leaves(got) == describe_leaves(wanted);
  };
  for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    demand_nothing(strategy.run([&](ReplicaContext& replica) -> std::string {
      const SampleNest own = nest_of(shape, seed, replica.replica_id());
      const SampleNest wanted = reduced_nest(shape, seed, replica.num_replicas(), op);
      const SampleNest merged = replica.merge_call(
          [op](CrossReplicaContext& cross, const PerReplica<SampleNest>& nests) {
            return cross.reduce(op, nests);
          },
          own);
      std::string of_nests = to_string(op) + " of nests gave another nest";
      if (!same(replica.all_reduce(op, own), wanted)) return of_nests;
      return same(merged, wanted) ? std::string() : of_nests + " in a merge";
    }));
  }
}

template <class F>
void demand_refused(Strategy& strategy, const std::string& what, const F& mean) {
  try {
    mean();
  } catch (const InvalidArgumentError& error) {
    if (error.code() == ErrorCode::kIntegerMean) return;
    throw;
  } catch (const PeerFailedError&) {
    // The replicas of other processes fail: a process without devices has no mean of its own.
    if (strategy.worker_devices().empty()) return;
    throw;
  }
  fail("MEAN over " + what + " was accepted");
}

template <class T>
void check_integer_mean(Strategy& strategy) {
  const std::string type = to_string(dtype_of<T>());
  const auto tensor = [] { return Tensor<T>::full({1}, T(1)); };
  demand_refused(strategy, "a host " + type, [&] {
    strategy.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, T(1)); });
  });
  demand_refused(strategy, "tensors of " + type, [&] {
    strategy.run([&](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, tensor()); });
  });
  const auto tensors = strategy.distribute_values([&](int) { return tensor(); });
  demand_refused(strategy, "components of " + type,
                 [&] { strategy.cross_replica().reduce(ReduceOp::kMean, tensors); });
}

}  // namespace

void check_reduce(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const AskedOrder asked = draw_order();
  const Shape shape = draw_shape();
  const NestShape nest = *nest_shape().as("nest");
  const std::uint64_t seed = draw_seed();
  ContractFixture fixture(subject, setting, asked.order);
  Strategy& strategy = fixture.strategy();
  const auto check = [&]<class T>(T) {
    check_type<T>(strategy, asked, shape, seed, subject.tolerance());
  };
  for_each_type<FloatingTypes>(check);
  for_each_type<IntegerTypes>(check);
  check_nan(strategy);
  check_nests(strategy, nest, seed, subject.tolerance() == 0);
  for_each_type<IntegerTypes>([&]<class T>(T) { check_integer_mean<T>(strategy); });
}

}  // namespace belfry::testing
