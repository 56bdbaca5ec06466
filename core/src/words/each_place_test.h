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

/// The lines of a report about three replicas. Replica `odd` has the line `strange`, and the
/// replicas with the line `usual` share a line: `replicas 0,2`.
inline std::string lines_of_three(int odd, const std::string& usual, const std::string& strange) {
  const std::string others = odd == 0 ? "1,2" : odd == 1 ? "0,2" : "0,1";
  const std::string apart = "  replica " + std::to_string(odd) + "  " + strange + "\n";
  const std::string together = "  replicas " + others + "  " + usual + "\n";
  return odd == 0 ? apart + together : together + apart;
}

}  // namespace belfry::testing
