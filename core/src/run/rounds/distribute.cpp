// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/distribute.h"

#include "belfry/error.h"

namespace belfry::detail {

void throw_nobody_takes_part(CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "no replica has a component of every argument of run",
                             "pass values of the same step together", site);
}

}  // namespace belfry::detail
