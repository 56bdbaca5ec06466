// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/addition_order.h"

#include <cstddef>
#include <span>
#include <vector>

namespace belfry::orders {

/// Some elements of all members: a row of each member.
struct Columns {
  std::span<const std::vector<float>> rows;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The results of a tree for these elements, whose members all have a row.
std::vector<float> evaluate(const AdditionTree& tree, const Columns& columns,
                            const OrderArithmetic& arithmetic);

/// Whether the bits are equal, or both values are NaN.
bool have_equal_bits(float a, float b);

}  // namespace belfry::orders
