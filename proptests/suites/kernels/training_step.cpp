// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "suites/kernels/training_step.h"

#include "belfry/launch.h"
#include "belfry/tensor_ops.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace belfry::testing {
namespace {

constexpr std::int64_t kLength = 2;

using Floats = Tensor<float>;

// y = w * x, by way of scratch memory.
struct Forward {
  LaunchFault fault;
  bool check(const Shape& y, const Shape& x, const Shape& w) const {
    return fault.check() && y == x && x == w;
  }
  void on_host(std::span<float> y, std::span<std::byte> memory, std::span<const float> x,
               std::span<const float> w) const {
    const std::span products(reinterpret_cast<float*>(memory.data()), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) products[i] = w[i] * x[i];
    y[0] = products[0];
    fault.body();
    std::ranges::copy(products, y.begin());
  }
};

// x += 1.
struct Grow {
  LaunchFault fault;
  bool check(const Shape&) const { return fault.check(); }
  void on_host(std::span<float> x) const {
    x[0] += 1;
    fault.body();
    for (std::size_t i = 1; i < x.size(); ++i) x[i] += 1;
  }
};

struct Set {
  float value = 0;
  void on_host(std::span<float> x) const { std::ranges::fill(x, value); }
};

// w += g.
struct Descend {
  LaunchFault fault;
  bool check(const Shape& w, const Shape& g) const { return fault.check() && w == g; }
  void on_host(std::span<float> w, std::span<const float> g) const {
    w[0] += g[0];
    fault.body();
    for (std::size_t i = 1; i < w.size(); ++i) w[i] += g[i];
  }
};

float first_input(int replica) { return static_cast<float>(replica) + 1; }

bool are_all(const std::vector<float>& values, float expected) {
  return std::ranges::count(values, expected) == std::ssize(values);
}

}  // namespace

const char* to_string(StepFault fault) {
  static constexpr const char* kNames[] = {"none", "throw", "cancel", "check", "body"};
  return kNames[static_cast<std::size_t>(fault)];
}

TrainingStep::TrainingStep(Strategy& strategy)
    : strategy_(strategy),
      weights_(strategy.mirrored_variable([] { return Floats::full({kLength}, kFirstWeight); })) {
  for (int id = 0; id < strategy.num_replicas(); ++id) {
    memories_.emplace_back(strategy.placement(id), std::vector<float>(kLength, first_input(id)));
  }
}

void TrainingStep::run(StepPoints& points) {
  strategy_.run([&](ReplicaContext& replica) { work(replica, points); });
}

void TrainingStep::run_in_transaction(StepPoints& points) {
  strategy_.transaction([&] { run(points); });
}

void TrainingStep::work(ReplicaContext& replica, StepPoints& points) {
  points.place();
  auto x = memories_[static_cast<std::size_t>(replica.replica_id())].over();
  points.place();
  auto y = Floats::uninitialised(x.shape());
  launch(Forward{points.launch()}, writes(y), scratch(x.any().bytes()), reads(x),
         reads(weights_.on(replica)));
  points.place();
  launch(Grow{points.launch()}, updates(x));
  const auto gradient = y + y;
  points.place();
  replica.merge_call([&](CrossReplicaContext& cross,
                         const PerReplica<Floats>& gradients) { merge(cross, gradients, points); },
                     gradient);
  points.place();
  static_cast<void>(y.to_host());
}

void TrainingStep::merge(CrossReplicaContext& cross, const PerReplica<Floats>& gradients,
                         StepPoints& points) {
  points.place();
  const auto total = cross.reduce(ReduceOp::kSum, gradients);
  cross.update(
      weights_,
      [&](Floats& weights, const Floats& sum) {
        points.place();
        launch(Descend{points.launch()}, updates(weights), reads(sum));
      },
      total);
  points.place();
  cross.update_non_slot(
      cross.devices(),
      [&](const Floats& sum) {
        auto momentum = Floats::full({kLength}, 0);
        launch(Descend{points.launch()}, updates(momentum), reads(sum));
        return momentum;
      },
      total);
}

// Replica i has the gradient 2 * 2 * (i + 1).
float TrainingStep::trained_weight() const {
  const int count = strategy_.num_replicas();
  return kFirstWeight + static_cast<float>(2 * count * (count + 1));
}

bool TrainingStep::weights_are(float value) const {
  return std::ranges::all_of(strategy_.local_values(weights_), [&](const Floats& one) {
    try {
      return are_all(one.to_host(), value);
    } catch (const InjectedFault&) {  // No value.
      return false;
    }
  });
}

bool TrainingStep::is_trained() const { return weights_are(trained_weight()); }

bool TrainingStep::is_either_or_spoilt() const {
  return std::ranges::all_of(strategy_.local_values(weights_), [&](const Floats& one) {
    try {
      const std::vector<float> values = one.to_host();
      return are_all(values, kFirstWeight) || are_all(values, trained_weight());
    } catch (const InjectedFault&) {
      return true;
    }
  });
}

bool TrainingStep::memory_is_either() const {
  for (int id = 0; id < strategy_.num_replicas(); ++id) {
    for (const float value : memories_[static_cast<std::size_t>(id)].values()) {
      if (value != first_input(id) && value != first_input(id) + 1) return false;
    }
  }
  return true;
}

bool TrainingStep::memory_is_trained() const {
  for (int id = 0; id < strategy_.num_replicas(); ++id) {
    const auto& own = memories_[static_cast<std::size_t>(id)];
    if (!are_all(own.values(), first_input(id) + 1)) return false;
  }
  return true;
}

bool TrainingStep::is_released() const {
  return std::ranges::all_of(memories_, [](const auto& own) { return own.is_released(); });
}

void TrainingStep::start_again() {
  strategy_.cross_replica().update(
      weights_, [](Floats& weights) { weights = Floats::full({kLength}, kFirstWeight); });
  for (int id = 0; id < strategy_.num_replicas(); ++id) {
    auto x = memories_[static_cast<std::size_t>(id)].over();
    launch(Set{first_input(id)}, writes(x));
  }
}

}  // namespace belfry::testing
