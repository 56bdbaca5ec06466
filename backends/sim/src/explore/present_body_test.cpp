// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "explore/present_body.h"

#include "belfry/sim/backend.h"
#include "explore/uses_beside.h"

#include <gtest/gtest.h>

namespace belfry::sim::present_body_test {
namespace {

// After the end of a backend, a new executor may have the address of the ended executor.
TEST(PresentBody, KnowsNoExecutorByTheAddressOfOneThatHasEnded) {
  Backend backend{{.devices = 1}};
  const UsesBeside explored;  // Executors are noted while a body of an exploration lasts.
  const Executor& executor = backend.executor();
  const UsesBeside beside;
  PresentBody::runs(executor);
  EXPECT_FALSE(beside.any());
  {
    const Backend ends{{.devices = 1}};
  }
  PresentBody::runs(executor);
  EXPECT_TRUE(beside.any());
}

}  // namespace
}  // namespace belfry::sim::present_body_test
