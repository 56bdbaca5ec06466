// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// [property]
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/testing/arbitrary.h>
#include <belfry/testing/uneven_batch.h>

#include <gtest/gtest.h>  // before RapidCheck's
#include <rapidcheck/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

RC_GTEST_PROP(Mean, OfEqualIntegersIsThatInteger,
              (const belfry::sim::Options& options, std::int32_t value)) {
  belfry::sim::Backend backend{options};
  belfry::MirroredStrategy strategy{backend};

  const auto means = strategy.run([&](belfry::ReplicaContext& replica) {
    return replica.all_reduce(belfry::ReduceOp::kMean, double(value));
  });

  for (double mean : means) RC_ASSERT(mean == value);
}
// [property]

// [uneven]
RC_GTEST_PROP(Mean, OfABatchIsThatOfOneDevice,
              (const belfry::sim::Options& options, const belfry::testing::UnevenBatch& batch)) {
  RC_PRE(!batch.examples.empty());
  belfry::sim::Backend backend{options};
  belfry::MirroredStrategy strategy{backend};

  const auto means = strategy.run([&](belfry::ReplicaContext& replica) {
    const std::vector<double> own = batch.share(replica.replica_id(), replica.num_replicas());
    const double sum = std::accumulate(own.begin(), own.end(), 0.0);
    const auto [total, count] =
        replica.all_reduce(belfry::ReduceOp::kSum, std::pair(sum, double(own.size())));
    return total / count;
  });

  const std::vector<double> all = batch.whole();
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / double(all.size());
  for (double each : means) RC_ASSERT(each == mean);
}
// [uneven]
