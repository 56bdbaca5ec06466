// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Memory runs out at each allocation of programs on the simulator.
#include "belfry/testing/asserts.h"
#include "memory/memory_settings.h"

#include <gtest/gtest.h>

namespace belfry::testing::memory_test {
namespace {

class Memory : public ::testing::TestWithParam<MemoryCase> {};

TEST_P(Memory, MayRunOutAtAnyAllocation) {
  testing::asserts("SEM-144");
  const MemorySetting setting = simulated<MirroredStrategy>({});
  for (const bool warm : {false, true}) EXPECT_GT(expect_survival(GetParam(), setting, warm), 0U);
}

INSTANTIATE_TEST_SUITE_P(Cases, Memory, ::testing::ValuesIn(memory_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Kernels, Memory, ::testing::ValuesIn(kernel_memory_cases()), name_of_case);

}  // namespace
}  // namespace belfry::testing::memory_test
