// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

namespace belfry::testing {

/// The value of `make(id)` for the lowest replica of this process, on the replica's device; in a
/// process without devices `make(0)` on the host. A process brings the value to verbs that take the
/// value of one process. Not inside a run.
template <class F>
auto own_value(Strategy& strategy, const F& make) {
  const auto values = strategy.distribute_values(make);
  if (values.begin() != values.end()) return *values.begin();
  const auto scope = strategy.scope();
  return make(0);
}

}  // namespace belfry::testing
