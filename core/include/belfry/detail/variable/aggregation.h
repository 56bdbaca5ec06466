// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"
#include "belfry/detail/prints.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/device_spec.h"

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
  kMax,        ///< The largest value.
  kMin,        ///< The smallest value.
  kProd,       ///< The product.
  kOnlyFirst,  ///< Replica 0's value.
  kOther,      ///< By a user's Reduction; for replica-local variables alone.
};

/// `none`, `sum`, `mean`, `max`, `min`, `prod`, `only-first` or `other`.
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
/// The operator of an aggregation that reduces: of none but kSum to kProd.
ReduceOp reduce_op_of(Aggregation aggregation);
}  // namespace detail

/// The devices of a variable's components, and the component that each replica sees (SEM-110).
/// Devices are indices in the backend.
struct VariablePlaces {
  std::vector<int> devices{};    ///< The device of each component.
  std::vector<int> component{};  ///< The component of each replica, by replica id; -1: none.

  /// A component for each replica; `replica_devices` are the replicas' devices, by replica id.
  static VariablePlaces with_replicas(const std::vector<int>& replica_devices);
  /// A single component on `device`, seen by all `replicas`.
  static VariablePlaces in_one_place(int device, int replicas);

  int size() const { return static_cast<int>(devices.size()); }  ///< The number of components.
  /// Whether no two replicas see the same component.
  bool is_one_each() const;

  bool operator==(const VariablePlaces&) const = default;
};

/// `devices 0 2; replicas see 0 - 1`: `-` for a replica without a component.
std::string to_string(const VariablePlaces& places);

/// How a total is split into the components of a replica-local variable that is read as a sum
/// (SEM-56, SEM-57).
enum class SumSplit : std::uint8_t {
  kFirst,   ///< Component 0 gets the total, the others 0: the sum is the total (0 for -0.0).
  kDivide,  ///< Each gets total / components; the first get 1 more until no integer remainder
            ///< is left. Sums of floats may be rounded.
};

/// `first` or `divide`.
std::string to_string(SumSplit split);

}  // namespace belfry
