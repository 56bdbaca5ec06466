// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/cross_device_ops.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/contracts.h"

#include <functional>
#include <memory>

namespace belfry::testing {

/// Makes an algorithm for strategies with this many replicas.
using AlgorithmMaker = std::function<std::shared_ptr<CrossDeviceOps>(int replicas)>;

/// Checks the contract of algorithms of reductions (SEM-146, SEM-147), `A-reduce`: over random
/// tensors, replicas that take part, element types and schedules,
///
/// - every replica receives the same bits;
/// - the bits are those of the additions that the plan states; without a plan, those of the
///   declared order if all replicas take part; and exact sums in any case;
/// - 16-bit floats are rounded once, and a mean is divided once;
/// - inputs that replicas keep are left alone;
/// - a replica may overwrite its result at once, whatever others still read;
/// - a plan is valid, and `can_add_in` is true for the declared order.
///
/// Needs no test framework. The result is that of a contract; the message names the broken rule and
/// the shrunk case.
ContractResult check_algorithm(const AlgorithmMaker& make, const BackendFactory& backends,
                               const ContractOptions& options = {});

}  // namespace belfry::testing
