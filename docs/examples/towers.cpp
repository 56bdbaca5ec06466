// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs from the documents of older systems, in the words of these systems: docs/towers.md.
#include <belfry/dataset.h>
#include <belfry/sim/backend.h>
#include <belfry/tower.h>

#include <cstddef>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tower = belfry::tower;
using belfry::to_string;

// [merge]
// Called once in "cross-tower" context.
int merge_fn(tower::DistributionStrategy& distribution,
             const tower::PerDevice<int>& three_plus_tower_id) {
  int sum = 0;  // the sum of the values across towers
  for (int value : tower::unwrap(distribution, three_plus_tower_id)) sum += value;
  return sum;
}

// Called once per tower in `distribution`, in a "tower" context.
int fn(int three) {
  tower::TowerContext& tower_ctx = *tower::get_tower_context();
  const int v = three + tower::tower_id(tower_ctx);
  // The sum of the `v` values across all towers.
  const int s = tower::merge_call(tower_ctx, merge_fn, v);
  return s + v;
}
// [merge]

template <class T>
void print(const std::vector<T>& list) {
  const char* before = "";
  for (const T& value : list) std::cout << std::exchange(before, " ") << value;
  std::cout << '\n';
}

void call_for_each_tower(tower::DistributionStrategy& distribution) {
  // [call_for_each_tower]
  const auto in_scope = tower::scope(distribution);  // until the end of the block
  const auto merged_results = tower::call_for_each_tower(distribution, fn, 3);
  print(tower::unwrap(distribution, merged_results));
  // [call_for_each_tower]
}

void call_for_each_replica(tower::DistributionStrategy& distribution) {
  // [call_for_each_replica]
  const auto merge_fn = [](tower::Strategy& strategy,
                           const belfry::PerReplica<int>& three_plus_replica_id) {
    int sum = 0;
    for (int value : tower::experimental_local_results(strategy, three_plus_replica_id)) {
      sum += value;
    }
    return sum;
  };
  const auto fn = [&](int three) {
    tower::ReplicaContext& replica_ctx = *tower::get_replica_context();
    const int v = three + tower::replica_id_in_sync_group(replica_ctx);
    const int s = tower::merge_call(replica_ctx, merge_fn, v);
    return s + v;
  };
  const auto merged_results = tower::run(distribution, fn, 3);
  print(tower::experimental_local_results(distribution, merged_results));
  // [call_for_each_replica]
}

void worker_device_index(tower::DistributionStrategy& distribution) {
  // [worker_device_index]
  const auto fn = [&](int device_id) {
    // device_id is a number; `fn` is executed on this device.
    const auto number = static_cast<std::size_t>(device_id);
    return to_string(tower::worker_devices(distribution)[number]) == tower::current_device();
  };
  const auto index = tower::worker_device_index(distribution);
  print(tower::unwrap(distribution, tower::call_for_each_tower(distribution, fn, index)));
  // [worker_device_index]
}

void colocate(tower::DistributionStrategy& distribution) {
  // [colocate_vars_with]
  const auto var1 = distribution.variable(1.0);
  const auto beside = tower::colocate_vars_with(distribution, var1);  // until the end of the block
  // var2 and var3 are made on the same devices as var1.
  const auto var2 = distribution.variable(2.0);
  const auto var3 = distribution.variable(3.0);
  // Runs on every device of var1; var2 and var3 are there too.
  const auto fn = [](double& v1, double v2, double v3) { v1 += v2 * v3; };
  tower::update(distribution, var1, fn, var2, var3);
  std::cout << tower::read_var(distribution, var1) << '\n';
  // [colocate_vars_with]
}

void distribute(tower::DistributionStrategy& distribution) {
  // [distribute_dataset]
  const auto dataset = belfry::Dataset<int>::range(8).batch(4);
  auto iterator = tower::distribute_dataset(distribution, dataset,
                                            {.end_of_data = belfry::EndOfData::kDropPartialStep});
  const auto tower_fn = [](const std::vector<int>& examples) { return examples[0]; };
  for (int step = 0; step < 2; ++step) {
    const auto tower_results =
        tower::call_for_each_tower(distribution, tower_fn, iterator.get_next());
    print(tower::unwrap(distribution, tower_results));
  }
  // [distribute_dataset]
}

void tower_local(tower::DistributionStrategy& distribution) {
  // [tower_local_var_scope]
  const auto local = tower::tower_local_var_scope(distribution, "mean");
  const auto seen = distribution.variable(0.0).as_replica_local();
  tower::call_for_each_tower(distribution, [&](tower::TowerContext& tower_ctx) {
    tower_ctx.assign_add(seen, 4.0 * tower::tower_id(tower_ctx));
  });
  std::cout << tower::fetch(distribution, seen) << '\n';  // the mean of 0 and 4
  // [tower_local_var_scope]
}

void values(tower::DistributionStrategy& distribution) {
  // [reduce]
  const tower::PerDevice<double> losses{1.0, 3.0};
  const std::vector<tower::DeviceSpecification> devices = tower::worker_devices(distribution);
  const auto mean = tower::reduce(distribution, "mean", losses);              // on all devices
  const auto there = tower::reduce(distribution, "sum", losses, devices[1]);  // on one
  const auto [sum, copy] = tower::batch_reduce(distribution, "sum", std::pair{losses, devices[0]},
                                               std::pair{losses, devices});
  const auto everywhere = tower::broadcast(distribution, 10.0);
  std::cout << mean.value() << ' ' << there.value() << ' ' << sum.value() << ' '
            << copy.devices().size() << ' ' << tower::fetch(distribution, everywhere) << '\n';
  // [reduce]
}

// [all_reduce]
struct Value {
  double a;
  std::vector<double> b;
  static auto members(auto& self) { return std::tie(self.a, self.b); }
};

Value value_of(const tower::ReplicaContext& replica) {
  return tower::replica_id_in_sync_group(replica) == 0 ? Value{1, {40, 1}} : Value{3, {2, 98}};
}
// [all_reduce]

void all_reduce(tower::DistributionStrategy& distribution) {
  // [all_reduce_call]
  const auto reduced = tower::run(distribution, [](tower::ReplicaContext& replica) {
    const Value sum = tower::all_reduce(replica, "SUM", value_of(replica));
    const Value mean = tower::all_reduce(replica, "MEAN", value_of(replica));
    return std::vector<double>{sum.a, sum.b[0], sum.b[1], mean.a, mean.b[0], mean.b[1]};
  });
  print(tower::experimental_local_results(distribution, reduced)[1]);
  // [all_reduce_call]
}

void outside() {
  // [outside]
  const auto merge_fn = [](tower::DistributionStrategy& distribution,
                           const tower::PerDevice<std::string>& x) {
    return "foo_" + x[0] + (tower::is_single_tower(distribution) ? ", one tower" : "");
  };
  tower::TowerContext& tower_ctx = *tower::get_tower_context();
  std::cout << tower::merge_call(tower_ctx, merge_fn, std::string("bar")) << '\n';
  // [outside]
}

void scala(tower::DistributionStrategy& distribution) {
  // [scala]
  const auto variable1 = distribution.variable(1.0);
  const auto variable2 = tower::colocate_variables_with(distribution, variable1,
                                                        [&] { return distribution.variable(2.0); });
  const auto local = tower::tower_local_variable_scope(distribution, tower::kSumReduction,
                                                       [&] { return distribution.variable(0.0); });

  const std::vector<tower::DistributedValue<int>> values{tower::broadcast(distribution, 3),
                                                         tower::PerDevice<int>{10, 20}};
  const auto merged_results = tower::for_each_tower(
      distribution, [](const std::vector<int>& own) { return own[0] + own[1]; }, values);
  print(tower::unwrap(distribution, merged_results));
  std::cout << (variable2.devices() == variable1.devices()) << ' ' << local.trainable() << '\n';
  // [scala]
}

int main() {
  // [strategy]
  belfry::sim::Backend backend{{.devices = 2, .seed = 7}};
  tower::MirroredStrategy distribution{backend};
  // [strategy]
  std::cout << std::boolalpha << "== call_for_each_tower\n";
  call_for_each_tower(distribution);
  std::cout << "== call_for_each_replica\n";
  call_for_each_replica(distribution);
  std::cout << "== worker_device_index\n";
  worker_device_index(distribution);
  std::cout << "== colocate_vars_with\n";
  colocate(distribution);
  std::cout << "== distribute_dataset\n";
  distribute(distribution);
  std::cout << "== tower_local_var_scope\n";
  tower_local(distribution);
  std::cout << "== reduce\n";
  values(distribution);
  std::cout << "== all_reduce\n";
  all_reduce(distribution);
  std::cout << "== outside\n";
  outside();
  std::cout << "== scala\n";
  scala(distribution);
}
