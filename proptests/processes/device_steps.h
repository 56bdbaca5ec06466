// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "processes/process_program.h"

namespace belfry::testing {

/// The variables of a program.
struct ProgramVariables {
  /// Made by functions that return other values than `first` in other processes than 0.
  ProgramVariables(Strategy& strategy, double first);

  MirroredVariable<double> weight;
  MirroredVariable<Tensor<double>> table;
  ReplicaLocalVariable<double> count;
  ReplicaLocalVariable<Tensor<float>> rows;
};

/// Carries out a verb with tensors or variables in a replica, and returns a number that the replica
/// sees afterwards. `x` is the present value of the replica.
double step_on_devices(ReplicaContext& replica, Verb verb, double x, ProgramVariables& variables);

}  // namespace belfry::testing
