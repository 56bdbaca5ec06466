// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/reduce_op.h"

#include <cstdint>
#include <string>

namespace belfry {

/// How the values of replicas become one: what they assign to a mirrored variable (SEM-45), and the
/// components of a replica-local one when it is read (SEM-51).
enum class Aggregation : std::uint8_t {
  kNone,  ///< Assigning in a replica, or reading across replicas, is an error.
  kSum,
  kMean,
  kOnlyFirst,  ///< Replica 0's value.
  kOther,      ///< By a Reduction of the user's; for replica-local variables alone.
};

/// `none`, `sum`, `mean`, `only-first` or `other`.
std::string to_string(Aggregation aggregation);

/// The aggregation that reduces with `op`. Throws: InvalidArgumentError (kInvalidArgument) for a
/// number that stands for no operator.
Aggregation aggregation_of(ReduceOp op, CallSite site = CallSite::here());

/// When the components of a variable are brought together (SEM-45, SEM-51).
enum class Synchronization : std::uint8_t {
  kAuto,     ///< As the scopes in force say; on write without any.
  kNone,     ///< Never: refused, a strategy cannot keep such a variable.
  kOnWrite,  ///< Mirrored: every change reaches all components.
  kOnRead,   ///< Replica-local: components are reduced when they are read.
};

/// `auto`, `none`, `on write` or `on read`.
std::string to_string(Synchronization synchronization);

/// Options of a variable.
struct VariableOptions {
  std::string name{};  ///< For messages and files; empty: `variable` and its number.
  Aggregation aggregation = Aggregation::kNone;
  bool trainable = true;  ///< Always false for replica-local variables.
  Synchronization synchronization = Synchronization::kAuto;  ///< For Strategy::variable alone.
};

namespace detail {
enum class AssignOp : std::uint8_t { kSet, kAdd, kSubtract };
}  // namespace detail

}  // namespace belfry
