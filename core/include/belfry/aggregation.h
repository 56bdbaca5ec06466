// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace belfry {

/// How the values that replicas assign to a mirrored variable become one (SEM-45).
enum class Aggregation : std::uint8_t {
  kNone,       ///< Assigning in a replica is an error.
  kSum,
  kMean,
  kOnlyFirst,  ///< Replica 0's value.
};

/// `none`, `sum`, `mean` or `only-first`.
std::string to_string(Aggregation aggregation);

/// Options of a variable.
struct VariableOptions {
  std::string name{};  ///< For messages; empty: `variable` and its number.
  Aggregation aggregation = Aggregation::kNone;
  bool trainable = true;  ///< Always false for replica-local variables.
};

namespace detail {
enum class AssignOp : std::uint8_t { kSet, kAdd, kSubtract };
}  // namespace detail

}  // namespace belfry
