// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::testing {

/// Called by `main` between InitGoogleTest and RUN_ALL_TESTS; null: nothing is called. A test
/// program sets the function while its statics are made.
inline void (*before_tests)() = nullptr;

}  // namespace belfry::testing
