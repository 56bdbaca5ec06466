// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/orders/require_rows.h"

#include "belfry/error.h"
#include "collectives/orders/named_order.h"

#include <fmt/format.h>

namespace belfry::orders {

void require_rows(const detail::OrderQuestion& question, CallSite site) {
  require_explained(question.dtype, site);
  if (question.inputs.empty()) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a reduction without inputs",
                               "give a row for each member", site);
  }
  for (std::size_t member = 0; member < question.inputs.size(); ++member) {
    const std::size_t length = question.inputs[member].size();
    if (length == question.result.size()) continue;
    throw InvalidArgumentError(
        ErrorCode::kShape,
        fmt::format("the row of member {} has {} elements, and {} are needed", member, length,
                    question.result.size()),
        "give a row of the result's length for each member", site);
  }
}

}  // namespace belfry::orders
