// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/sim/backend.h"
#include "belfry/sim/repeat.h"
#include "memory/memory_case.h"

#include <gtest/gtest.h>

namespace belfry::testing {
namespace {

void train_once(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto weights =
      strategy.mirrored_variable([] { return Tensor<float>::full(Shape({2}), 1.0F); });
  strategy.run([&](ReplicaContext& replica) {
    static_cast<void>(replica.all_reduce(ReduceOp::kSum, weights.on(replica)).to_host());
  });
}

void make_and_destroy(MemoryFixture&) {
  sim::Backend backend{{.devices = 2, .seed = 3}};
  train_once(backend);
}

void compare_two_runs(MemoryFixture&) {
  sim::repeat_and_compare({.devices = 2, .seed = 3}, train_once);
}

void describe_a_run(MemoryFixture&) {
  sim::Backend backend{{.devices = 2, .seed = 3}};
  train_once(backend);
  EXPECT_NE(backend.log().size(), 0U);
  static_cast<void>(sim::to_string(backend.options()));
  const sim::Schedule schedule = sim::Schedule::replay(backend.replay_token());
  sim::Backend again{{.devices = 2, .schedule = schedule, .seed = 3}};
  train_once(again);
}

}  // namespace

std::vector<MemoryCase> simulator_memory_cases() {
  return {
      {"making and destroying", Changes::kNothing, make_and_destroy},
      {"two runs compared", Changes::kNothing, compare_two_runs},
      {"a log and its replay", Changes::kNothing, describe_a_run},
  };
}

}  // namespace belfry::testing
