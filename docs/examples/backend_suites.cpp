// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The factory that the suites of the backend interface ask for: docs/backends.md.

// [factory]
#include <belfry/testing/sim_factory.h>

const belfry::testing::BackendFactory& belfry::testing::backend_factory() {
  static const SimFactory factory;  // The simulator's, in place of yours.
  return factory;
}
// [factory]
