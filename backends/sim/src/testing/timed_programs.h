// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"

/// Programs whose exploration is timed. All are certified, and return a number that all schedules
/// share. A replica goes through kRounds rounds.
namespace belfry::sim::testing {

inline constexpr int kRounds = 20;

/// Each round merges a number of each replica.
double host_merges(Backend& backend);
/// Each round reads a mirrored variable of a number.
double variable_reads(Backend& backend);
/// A quarter of the rounds, each with four operations on a small tensor and a reduction.
double tensor_reductions(Backend& backend);
/// A reduction of a map of 20 lists of two numbers.
double map_reduction(Backend& backend);
/// A single step of a model with two layers: products of matrices, a reduction of the loss, and a
/// merge that reduces the gradients and updates the weights.
/// A reduction of 5 maps of 10 numbers, in a map.
double nested_map_reduction(Backend& backend);
double training_step(Backend& backend);

}  // namespace belfry::sim::testing
