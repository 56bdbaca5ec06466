// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Baseline of compile_bench: the property of docs/examples/property.cpp without belfry.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

RC_GTEST_PROP(Mean, OfEqualIntegersIsThatInteger,
              (const std::uint64_t& replicas, std::int16_t value)) {
  std::int64_t sum = 0;
  const auto count = static_cast<std::int64_t>(replicas % 16 + 1);
  for (std::int64_t i = 0; i < count; ++i) sum += value;
  RC_ASSERT(sum == count * value);
}
