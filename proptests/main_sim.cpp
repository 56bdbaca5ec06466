// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on simulated devices.
#include "belfry/testing/sim_factory.h"

namespace belfry::testing {

const BackendFactory& backend_factory() {
  static const SimFactory factory;
  return factory;
}

}  // namespace belfry::testing
