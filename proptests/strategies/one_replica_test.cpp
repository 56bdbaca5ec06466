// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// INV-14 for belfry's own strategies with a single replica. Not installed: tests of user strategies
// do not need the file.
#include "suites/one_replica.h"

#include "belfry/testing/backend_factory.h"
#include "belfry/testing/described.h"
#include "strategies/one_replica_factories.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace belfry::testing::one_replica_test {
namespace {

TEST(OneReplica, ObeysTheRulesOfMany) {
  const auto property = [](const ReplicaProgram& program, bool random) {
    BackendRequest request;
    request.devices = 3;
    request.schedule = random ? ScheduleKind::kRandom : ScheduleKind::kFixed;
    const auto backend = backend_factory().make(request);
    MirroredStrategy several(*backend);
    const auto codes = codes_of_mistakes(several);
    RC_ASSERT(std::count(codes.begin(), codes.end(), ErrorCode::kInternal) == 0);
    DefaultStrategy usual;
    OneDeviceStrategy one(*backend, backend->device_spec(0));
    for (Strategy* strategy : {static_cast<Strategy*>(&usual), static_cast<Strategy*>(&one)}) {
      RC_ASSERT(obeys_the_model(*strategy, program));
      RC_ASSERT(codes_of_mistakes(*strategy) == codes);
    }
  };
  rc::detail::checkGTest(described(property));
}

}  // namespace
}  // namespace belfry::testing::one_replica_test
