// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Trains step by step, as docs/tutorial.md does; each step prints its name and its results.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/timeline.h>
#include <belfry/tensor_ops.h>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using namespace belfry;

namespace {

void heading(const char* name) { std::cout << "== " << name << '\n'; }

void run() {
  heading("run");
  // [run]
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy strategy{backend};

  const PerReplica<int> squares = strategy.run(
      [](ReplicaContext& replica, int base) {
        return (base + replica.replica_id()) * (base + replica.replica_id());
      },
      10);
  for (int square : squares) std::cout << square << ' ';
  std::cout << '\n';
  // [run]

  heading("component");
  // [component]
  const PerReplica<std::string> names{"ann", "bob", "cat"};
  const auto lengths = strategy.run(
      [](ReplicaContext&, const std::string& name, double scale) { return scale * name.size(); },
      names, 0.5);
  std::cout << lengths[2] << '\n';
  // [component]
}

// [merge_fn]
int largest(CrossReplicaContext&, const PerReplica<int>& values) {
  int best = values[0];
  for (int value : values) best = std::max(best, value);
  return best;
}
// [merge_fn]

void merge() {
  sim::Backend backend{{.devices = 3}};
  MirroredStrategy strategy{backend};
  heading("merge");
  // [merge]
  const auto behind = strategy.run([](ReplicaContext& replica) {
    const int mine = 7 * replica.replica_id() % 5;  // 0, 2, 4
    const int best = replica.merge_call(largest, mine);
    return best - mine;
  });
  std::cout << behind[0] << ' ' << behind[1] << ' ' << behind[2] << '\n';
  // [merge]

  heading("unpack");
  // [unpack]
  const auto shares = strategy.run([](ReplicaContext& replica) {
    return replica.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<double>& values) {
          const Mirrored<double> total = cross.reduce(ReduceOp::kSum, values);
          return std::tuple{values, total, cross.num_replicas()};
        },
        1.0 + replica.replica_id());
  });
  const auto& [mine, total, replicas] = shares[1];
  std::cout << mine << " of " << total << " on " << replicas << " replicas\n";
  // [unpack]
}

// [nest]
struct Gradients {
  double bias = 0;
  std::vector<double> weights;
  static auto members(auto& self) { return std::tie(self.bias, self.weights); }
};
// [nest]

// [reduction]
struct Largest {
  int combine(int folded, int next) const { return std::max(folded, next); }
  int finalize(int folded, int /*replicas*/) const { return folded; }
};
// [reduction]

void reduce() {
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  heading("reduce");
  // [reduce]
  const auto means = strategy.run([](ReplicaContext& replica) {
    const double id = replica.replica_id();
    return replica.all_reduce(ReduceOp::kMean, Gradients{id, {1, 10 * id}});
  });
  std::cout << means[0].bias << ' ' << means[0].weights[0] << ' ' << means[0].weights[1] << '\n';
  // [reduce]

  heading("tensor");
  // [tensor]
  const auto norms = strategy.run([](ReplicaContext& replica) {
    const auto mine = Tensor<float>::full(Shape{2, 2}, 1.0F + replica.replica_id());
    const auto sum = replica.all_reduce(ReduceOp::kSum, mine);  // on this replica's device
    return sum.to_host()[3];
  });
  std::cout << norms[0] << ' ' << norms[1] << '\n';
  // [tensor]

  heading("largest");
  // [largest]
  const auto best = strategy.run([](ReplicaContext& replica) {
    const int own = 10 * replica.replica_id();  // 0 and 10
    return std::pair(replica.all_reduce(Largest{}, own),
                     replica.all_reduce(TruncatedMean{}, own + 1));
  });
  std::cout << best[0].first << ' ' << best[0].second << '\n';
  // [largest]
}

void variables() {
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  heading("variables");
  // [variables]
  auto weight = strategy.mirrored_variable(10.0, {.name = "weight"});
  auto seen = strategy.replica_local_variable(ReduceOp::kSum, 0);

  strategy.run([&](ReplicaContext& replica) {
    seen.on(replica) += 30 + 4 * replica.replica_id();                  // its own: 30, 34
    const double gradient = weight.on(replica) * replica.replica_id();  // 0 and 10
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<double>& gradients) {
          const Mirrored<double> mean = cross.reduce(ReduceOp::kMean, gradients);
          cross.update(weight, [](double& w, double g) { w -= 0.5 * g; }, mean);
        },
        gradient);
  });
  std::cout << strategy.read(weight) << ' ' << strategy.read(seen) << '\n';
  // [variables]

  heading("assign");
  // [assign]
  auto step = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kMean});
  strategy.run(
      [&](ReplicaContext& replica) { replica.assign_add(step, 1.0 + replica.replica_id()); });
  std::cout << strategy.read(step) << '\n';
  // [assign]

  heading("save");
  // [save]
  Checkpoint model{strategy};
  model.add(weight).add(seen);
  const TensorFile saved = model.contents();  // model.save("model.safetensors") writes it

  strategy.cross_replica().update(weight, [](double& w) { w = 0; });
  model.restore(saved);
  std::cout << strategy.read(weight) << ' ' << strategy.read(seen) << '\n';
  // [save]

  heading("transaction");
  // [transaction]
  try {
    strategy.transaction([&] {
      strategy.cross_replica().update(weight, [](double& w) { w += 1; });
      strategy.run([&](ReplicaContext& replica) { seen.on(replica) = -1; });
      throw std::runtime_error("the loss is not a number");
    });
  } catch (const std::runtime_error&) {
    std::cout << strategy.read(weight) << ' ' << strategy.read(seen) << '\n';
  }
  // [transaction]
}

void errors() {
  sim::Backend backend{{.devices = 2}};
  MirroredStrategy strategy{backend};
  heading("mismatch");
  // [mismatch]
  try {
    strategy.run([](ReplicaContext& replica) {
      if (replica.replica_id() == 0) replica.merge_call(largest, 1);
    });
  } catch (const MergeMismatchError& error) {
    std::cout << error.what() << '\n';
  }
  // [mismatch]

  heading("own");
  // [own]
  try {
    strategy.run([](ReplicaContext& replica) {
      if (replica.replica_id() == 1) throw std::out_of_range("label 12");
      replica.merge_call(largest, 1);
    });
  } catch (const std::out_of_range& error) {
    std::cout << "caught " << error.what() << '\n' << to_string(*strategy.last_failure()) << '\n';
  }
  // [own]
}

// [schedule]
std::vector<int> order_of_arrival(const sim::Options& options) {
  sim::Backend backend{options};
  MirroredStrategy strategy{backend};
  std::mutex mutex;
  std::vector<int> order;
  strategy.run([&](ReplicaContext& replica) {
    const std::lock_guard lock(mutex);
    order.push_back(replica.replica_id());
  });
  return order;
}
// [schedule]

void print(const std::vector<int>& order) {
  for (int id : order) std::cout << id << ' ';
  std::cout << '\n';
}

void schedules() {
  heading("orders");
  // [orders]
  print(order_of_arrival({.devices = 4, .schedule = sim::Schedule::fixed()}));
  print(order_of_arrival({.devices = 4, .seed = 1}));
  print(order_of_arrival({.devices = 4, .seed = 2}));
  // [orders]
}

void replay() {
  heading("replay");
  // [replay]
  sim::Backend first{{.devices = 4, .seed = 2}};
  MirroredStrategy strategy{first};
  strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1); });

  sim::Backend again{{.devices = 4, .schedule = sim::Schedule::replay(first.replay_token())}};
  MirroredStrategy same{again};
  same.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1); });
  std::cout << (first.hash() == again.hash() ? "the same run" : "another run") << '\n';
  // [replay]
}

void outside() {
  heading("outside");
  // [outside]
  sim::Backend backend{{.devices = 4}};
  const std::vector devices{DeviceSpec::parse("/sim:0"), DeviceSpec::parse("/sim:2")};
  MirroredStrategy strategy{backend, {.devices = devices}};
  const PerReplica<Tensor<float>> rows = strategy.run([](ReplicaContext& replica) {
    return Tensor<float>::full({1, 3}, 1.0F + replica.replica_id());
  });
  const auto total = strategy.cross_replica().reduce(ReduceOp::kSum, rows);
  const Tensor<float>& sum = total.value();  // of the first replica; total[1] is the second's
  std::cout << to_string(strategy.devices()[1]) << ' ' << sum.shape().extent(1) << " columns of "
            << sum.to_host()[0] << '\n';
  // [outside]
}

void timeline() {
  heading("timeline");
  // [timeline]
  TraceFile trace{"largest.jsonl"};
  sim::Backend backend{{.devices = 2, .schedule = sim::Schedule::fixed()},
                       sim::Attachments{.trace = &trace}};
  MirroredStrategy strategy{backend};
  strategy.run([](ReplicaContext& replica) { return replica.merge_call(largest, 1); });
  std::cout << sim::timeline(trace);
  // [timeline]
}

}  // namespace

int main() {
  run();
  merge();
  reduce();
  variables();
  errors();
  schedules();
  replay();
  timeline();
  outside();
}
