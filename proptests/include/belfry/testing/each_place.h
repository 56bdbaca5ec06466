// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace belfry::testing {

/// Calls `body(odd)` for each place of the odd participant, process or part. Only the test of a
/// place finds a comparison without this place.
template <class F>
void at_each_place(int places, const F& body) {
  for (int odd = 0; odd < places; ++odd) {
    SCOPED_TRACE("the odd place is " + std::to_string(odd) + " of " + std::to_string(places));
    body(odd);
  }
}

}  // namespace belfry::testing
