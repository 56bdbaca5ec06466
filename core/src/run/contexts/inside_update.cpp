// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/contexts/inside_update.h"

#include "belfry/error.h"

#include <string>

namespace belfry::detail {

void throw_inside_update(const char* what, CallSite site) {
  throw ContextError(ErrorCode::kWrongContext,
                     std::string(what) +
                         " inside a function that is called for each component, device or element "
                         "would be done once for each call",
                     "change the variables after one another, in a transaction where all or none "
                     "should change; what the function reads of another variable is an argument",
                     site);
}

}  // namespace belfry::detail
