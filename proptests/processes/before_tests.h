// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::testing {

/// Called by `main` between InitGoogleTest and RUN_ALL_TESTS; null: nothing is called. A test
/// program sets the function while its statics are made.
inline void (*before_tests)() = nullptr;

/// The cases of a property in several processes. In each exchange a process waits for all
/// processes, which share the processors.
inline int cases_over_processes = 5;

}  // namespace belfry::testing
