// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <string>

namespace belfry {

/// Code and text of the belfry error thrown by `body`.
inline std::string error_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// The lines of a report about three replicas. Replica `odd` has the line `strange`, and the
/// replicas with the line `usual` share a line: `replicas 0,2`.
inline std::string lines_of_three(int odd, const std::string& usual, const std::string& strange) {
  const std::string others = odd == 0 ? "1,2" : odd == 1 ? "0,2" : "0,1";
  const std::string apart = "  replica " + std::to_string(odd) + "  " + strange + "\n";
  const std::string together = "  replicas " + others + "  " + usual + "\n";
  return odd == 0 ? apart + together : together + apart;
}

}  // namespace belfry
