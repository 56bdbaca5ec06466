// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"

#include <vector>

namespace belfry::orders {

/// The inputs of the members, added from left to right.
AdditionTree left_fold(const std::vector<int>& members);

/// The additions of every element. The order is valid, and no ring.
AdditionTree additions_of_all(const NamedOrder& order, int members);

}  // namespace belfry::orders
