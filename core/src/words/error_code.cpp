// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"

namespace belfry {

std::string to_string(ErrorCode code) {
  const std::string digits = std::to_string(static_cast<int>(code));
  return "BF-" + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
}

}  // namespace belfry
