// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

namespace belfry {

class FusedUpdate;
class TensorValues;
class TensorVariables;

namespace detail {

/// The verbs of CrossReplicaContext on lists of variables.
class ListVerbs {
 public:
  /// Changes a list of mirrored variables of tensors by a rule, in place, with one launch for each
  /// device, element type and 512 tensors (SEM-250). Needs belfry/fused_update.h.
  ///
  ///     cross.update_all(weights, FusedUpdate::momentum(0.1, 0.9), velocities, gradients);
  ///
  /// `slots` has the first slots of all variables, then the second; `gradients` has a value for
  /// each variable, of the same shapes.
  /// Order: enqueued on compute streams; the host does not block. Tensors with a second handle are
  /// copied first, as ever; no other memory is allocated.
  /// Throws, before any variable has changed:
  /// - ContextError (kWrongContext): inside the function of another update;
  /// - InvalidArgumentError (kInvalidArgument): lists of other lengths, a variable twice, a
  ///   default-constructed tensor; (kShape); (kDType): element types that differ or do not fit the
  ///   rule; (kDestination): slots on other devices than their variable;
  /// - VariableMismatchError (kVariableMismatch): a variable that is not mirrored.
  void update_all(const TensorVariables& variables, const FusedUpdate& rule,
                  const TensorVariables& slots, const TensorValues& gradients,
                  CallSite site = CallSite::here());

 protected:
  ListVerbs() = default;
  ~ListVerbs() = default;
};

}  // namespace detail
}  // namespace belfry
