// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace belfry::testing {

// True if the environment variable BELFRY_TESTING_FAULT names the fault. A program whose variable
// names a fault that it does not have ends with status 2 before its first test.
bool planted(std::string_view fault);

}  // namespace belfry::testing
