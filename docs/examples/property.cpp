// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// [property]
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/testing/arbitrary.h>

#include <gtest/gtest.h>  // before RapidCheck's
#include <rapidcheck/gtest.h>

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
