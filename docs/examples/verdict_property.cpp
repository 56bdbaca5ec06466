// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Properties with a verdict about each case. The target is watched: see docs/CMakeLists.txt.
// [property]
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/explore.h>
#include <belfry/testing/verdict_property.h>

#include <gtest/gtest.h>  // before RapidCheck's
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace belfry;
using Batch = std::vector<std::int16_t>;

// The examples of a replica are every n-th example for n replicas.
double sum_of_share(ReplicaContext& replica, const Batch& batch) {
  double sum = 0;
  const auto step = static_cast<std::size_t>(replica.num_replicas());
  for (auto i = static_cast<std::size_t>(replica.replica_id()); i < batch.size(); i += step) {
    sum += batch[i];
  }
  return sum;
}

double train(sim::Backend& backend, const Batch& batch) {
  MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
  strategy.run(
      [&](ReplicaContext& replica) { replica.assign_sub(weight, sum_of_share(replica, batch)); });
  return strategy.read(weight);
}

// Each replica with a positive share writes the same value to a captured variable.
bool any_positive(sim::Backend& backend, const Batch& batch) {
  MirroredStrategy strategy{backend};
  bool any = false;
  strategy.run([&](ReplicaContext& replica) {
    if (sum_of_share(replica, batch) > 0) any = true;
  });
  return any;
}

RC_GTEST_PROP(Training, IsCertified, (const Batch& batch)) {
  const sim::Options options{.devices = *rc::gen::inRange(1, 5)};
  RC_ASSERT_VERDICT(
      sim::explore(options, [&](sim::Backend& backend) { return train(backend, batch); }),
      kCertified);
}

RC_GTEST_PROP(Flag, IsAtLeastRacy, (const Batch& batch)) {
  const sim::Options options{.devices = *rc::gen::inRange(1, 5)};
  RC_ASSERT_VERDICT(
      sim::explore(options, [&](sim::Backend& backend) { return any_positive(backend, batch); }),
      kRacy);
}
// [property]

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
