// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/device_spec.h"
#include "belfry/reduce_op.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belfry {

/// How the values of all replicas are combined: the values that replicas assign to a mirrored
/// variable (SEM-45), and the components of a replica-local variable at a read (SEM-51).
enum class Aggregation : std::uint8_t {
  kNone,       ///< An assignment in a replica, or a read across replicas, is an error.
  kSum,        ///< The sum.
  kMean,       ///< The sum, divided by the number of replicas that take part.
  kOnlyFirst,  ///< Replica 0's value.
  kOther,      ///< By a user's Reduction; for replica-local variables alone.
};

/// `none`, `sum`, `mean`, `only-first` or `other`.
std::string to_string(Aggregation aggregation);

/// The aggregation that reduces with `op`.
/// Throws: InvalidArgumentError (kInvalidArgument) for a number that stands for no operator.
Aggregation aggregation_of(ReduceOp op, CallSite site = CallSite::here());

/// When the components of a variable are combined (SEM-45, SEM-51).
enum class Synchronization : std::uint8_t {
  kAuto,     ///< By the enclosing scopes; kOnWrite outside every such scope.
  kNone,     ///< Never. Refused: a strategy cannot keep such a variable.
  kOnWrite,  ///< Mirrored: every change reaches all components.
  kOnRead,   ///< Replica-local: components are reduced at a read.
};

/// `auto`, `none`, `on write` or `on read`.
std::string to_string(Synchronization synchronization);

/// The options of a variable. Without any: no assignments in replicas, trainable, on the devices of
/// the strategy.
struct VariableOptions {
  /// For messages and files. Empty: `variable` and its number, which changes if another variable is
  /// made before: give the variables of a checkpoint names.
  std::string name{};
  /// How values are combined: assignments of a mirrored variable in replicas, or the components of
  /// a replica-local variable at a read. kNone: such an assignment or read is an error.
  Aggregation aggregation = Aggregation::kNone;
  /// Whether an optimiser should change the variable: belfry only keeps the answer. Always false
  /// for replica-local variables.
  bool trainable = true;
  Synchronization synchronization = Synchronization::kAuto;  ///< The kind, for Strategy::variable.
  /// The devices of the components, some of the strategy's devices. Replicas elsewhere have no
  /// component. Empty: as the enclosing scopes say, else the strategy.
  std::vector<DeviceSpec> devices{};
};

/// The options as an initializer that compiles, without members of their usual value:
/// `{.name = "w", .trainable = false}`.
std::string to_string(const VariableOptions& options);

namespace detail {
enum class AssignOp : std::uint8_t { kSet, kAdd, kSubtract };
}  // namespace detail

namespace detail {
template <>
inline constexpr bool kPrints<Aggregation> = true;
template <>
inline constexpr bool kPrints<Synchronization> = true;
template <>
inline constexpr bool kPrints<VariableOptions> = true;
}  // namespace detail

}  // namespace belfry
