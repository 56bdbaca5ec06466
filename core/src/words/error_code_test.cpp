// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"

#include <gtest/gtest.h>

namespace belfry::error_code_test {
namespace {

TEST(ErrorCode, PrintsThreeDigits) {
  EXPECT_EQ(to_string(ErrorCode::kWrongContext), "BF-001");
  EXPECT_EQ(to_string(ErrorCode::kMergeMissing), "BF-010");
  EXPECT_EQ(to_string(ErrorCode::kInternal), "BF-099");
}

}  // namespace
}  // namespace belfry::error_code_test
