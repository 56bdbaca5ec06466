// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-reduce and C-bcast: reductions and broadcasts against loops over plain vectors.
#include "contracts/contract_case.h"

namespace belfry::testing {
namespace {

template <class T>
using RowOf = std::vector<T>;

// Integers wrap.
template <class T>
T added(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
RowOf<T> folded(ReduceOp op, const std::vector<RowOf<T>>& rows) {
  RowOf<T> sum = rows.front();
  for (std::size_t r = 1; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = added(sum[i], rows[r][i]);
  }
  if (op == ReduceOp::kMean) {
    for (T& one : sum) one = one / static_cast<T>(rows.size());
  }
  return sum;
}

template <class T>
std::string note(const char* what, ReduceOp op, int replica, const RowOf<T>& got,
                 const RowOf<T>& wanted) {
  if (same_bits(got, wanted)) return {};
  return to_string(op) + " of " + what + " gave " + replica_text(replica) + ' ' + text_of(got) +
         ", not " + text_of(wanted);
}

template <class T>
std::string reduced_note(ReplicaContext& replica, ReduceOp op, const std::vector<RowOf<T>>& rows) {
  const int id = replica.replica_id();
  const RowOf<T>& own = rows[static_cast<std::size_t>(id)];
  const auto tensor = Tensor<T>::from({static_cast<std::int64_t>(own.size())}, own);
  const RowOf<T> wanted = folded(op, rows);
  const auto on_host = replica.all_reduce(op, own);
  const Tensor<T> on_device = replica.all_reduce(op, tensor);
  const auto [merged_host, merged_device] = replica.merge_call(
      [op](CrossReplicaContext& cross, const PerReplica<RowOf<T>>& all,
           const PerReplica<Tensor<T>>& tensors) {
        return std::pair(cross.reduce(op, all), cross.reduce(op, tensors));
      },
      own, tensor);
  std::string found = note("host rows", op, id, on_host, wanted);
  if (found.empty()) found = note("tensors", op, id, on_device.to_host(), wanted);
  if (found.empty()) found = note("host rows in a merge", op, id, merged_host, wanted);
  if (found.empty()) found = note("tensors in a merge", op, id, merged_device.to_host(), wanted);
  if (found.empty() && (on_device.placement() != replica.placement() ||
                        merged_device.placement() != replica.placement())) {
    found = to_string(op) + " left the tensor of " + replica_text(id) + " on another device";
  }
  if (found.empty() && !same_bits(tensor.to_host(), own)) {
    found = to_string(op) + " changed what " + replica_text(id) + " had brought";
  }
  return found;
}

template <class T>
void check_type(Strategy& strategy, Values values, std::size_t length) {
  std::vector<RowOf<T>> rows;
  rows.reserve(static_cast<std::size_t>(strategy.num_replicas()));
  for (int id = 0; id < strategy.num_replicas(); ++id) {
    rows.push_back(values_of<T>(values, id, length));
  }
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  if (!std::is_integral_v<T>) ops.push_back(ReduceOp::kMean);
  for (ReduceOp op : ops) {
    demand_nothing(
        strategy.run([&](ReplicaContext& replica) { return reduced_note<T>(replica, op, rows); }));
  }
}

void check_integer_mean(Strategy& strategy) {
  try {
    strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kMean, 1); });
  } catch (const InvalidArgumentError& error) {
    if (error.code() == ErrorCode::kIntegerMean) return;
    throw;
  }
  fail("MEAN over integers was accepted");
}

}  // namespace

void check_reduce(const Scene& scene) {
  const Setting setting = draw_setting(scene);
  const bool ordered = *rc::gen::arbitrary<bool>().as("replica order asked for");
  const auto length = static_cast<std::size_t>(*rc::gen::inRange(1, 8).as("length"));
  const std::uint64_t seed = draw_seed();
  std::optional<ReductionOrder> order;
  // Without a named order the sums may be taken in any: then the data are exact.
  if (ordered) order = ReductionOrder::kReplicaOrder;
  const Values values{ordered ? Pattern::kRandom : Pattern::kSmallIntegers, seed};
  Stage stage(scene, setting, order);
  check_type<float>(stage.strategy(), values, length);
  check_type<double>(stage.strategy(), values, length);
  check_type<std::int32_t>(stage.strategy(), values, length);
  check_integer_mean(stage.strategy());
}

void check_broadcast(const Scene& scene) {
  const Setting setting = draw_setting(scene);
  const std::uint64_t seed = draw_seed();
  Stage stage(scene, setting);
  Strategy& strategy = stage.strategy();
  const int replicas = stage.replicas();
  // More than once, so that what was kept from the last time shows.
  for (int round = 0; round < 3; ++round) {
    const int source = (static_cast<int>(seed % 100) + round) % replicas;
    const Row row = random_row(seed, round);
    const auto tensors =
        strategy.distribute_values([&](int id) { return tensor_of(random_row(seed, round + id)); });
    const auto wanted = random_row(seed, round + source);
    const auto everywhere = strategy.cross_replica().broadcast(tensors[source]);
    const auto on_host = strategy.cross_replica().broadcast(row);
    demand(everywhere.size() == replicas, "a broadcast reached another number of replicas");
    for (int id = 0; id < replicas; ++id) {
      const Row got = everywhere[id].to_host();
      demand(same_bits(got, wanted), "a broadcast gave " + replica_text(id) + ' ' + text_of(got) +
                                         ", not " + text_of(wanted));
      demand(everywhere[id].placement() == strategy.placement(id),
             "a broadcast left the tensor of " + replica_text(id) + " on another device");
      demand(same_bits(on_host[id], row),
             "a broadcast of a host value gave " + replica_text(id) + " another one");
    }
    demand(same_bits(tensors[source].to_host(), wanted), "a broadcast changed its source");
  }
}

}  // namespace belfry::testing
