// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "support_test.h"

#include <algorithm>
#include <vector>

namespace belfry::driver::explored_bodies_test {
namespace {

// Whether the body of the verdict used its backend alone.
bool uses_its_backend_alone(const sim::Verdict& verdict) {
  const auto& conditions = verdict.report().conditions;
  const auto found =
      std::ranges::find(conditions, "the body uses its backend alone", &sim::Condition::name);
  return found != conditions.end() && found->holds;
}

double reduced(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, replica.replica_id() + 0.5);
  })[0];
}

// The schedule of the driver's streams is no part of an exploration.
TEST(ExploredBodies, WithADriverAreNotCertified) {
  const sim::Options options{.devices = 2, .seed = 7};
  const sim::Verdict with = sim::explore(options, [](sim::Backend& backend) {
    const sim::SimulatedDriver machine({.gpus = 1});
    cudaStream_t stream = test::make_stream();
    int* data = test::allocate(test::make_pool(), stream, 2);
    std::vector<int> found(2);
    if (test::write(data, {1, 2}, stream) != cudaSuccess) return -1.0;
    if (test::read(found, data, stream) != cudaSuccess) return -1.0;
    return found[1] + reduced(backend);
  });
  EXPECT_FALSE(uses_its_backend_alone(with)) << explain(with);
  EXPECT_EQ(with.report().outcomes.at(0).outcome, "4");  // 2, and 0.5 + 1.5.
  EXPECT_TRUE(uses_its_backend_alone(sim::explore(options, reduced)));
}

}  // namespace
}  // namespace belfry::driver::explored_bodies_test
