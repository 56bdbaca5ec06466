// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace belfry::cuda::local_clique_test {
namespace {

using test::code_of;
using test::first_ranks;
using test::kLaunchFailure;
using test::Members;

// The copy to the second member is enqueued on the first member's stream; the copy to the third
// fails. A later write of the second member comes after the copy, in any order of the streams.
TEST(LocalClique, OrdersWorkEnqueuedBeforeAFailure) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    sim::SimulatedDriver machine({.gpus = 1, .seed = seed});
    Backend backend{{.devices = {0, 0, 0}}};
    const auto clique = backend.communicator(first_ranks(3));
    Members members(backend);
    machine.fail("cudaMemcpyAsync", 2, kLaunchFailure);
    EXPECT_EQ(
        code_of([&] {
          clique->run({.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = 0});
        }),
        ErrorCode::kDeviceLost);
    const float later = 7.0F;
    members.parts[1].stream->write(members.parts[1].output, &later);
    members.parts[0].stream->synchronize();
    EXPECT_EQ(members.value(1), later);
  }
}

}  // namespace
}  // namespace belfry::cuda::local_clique_test
