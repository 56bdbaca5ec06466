// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All headers for users of strategies; backends have their own headers (`belfry/sim/backend.h`,
/// `belfry/cuda/backend.h`). Library files never include this header.

// clang-format off
// First, and each before the headers that include it: compilers print the way of includes to a
// message, and these headers have the messages for users.
#include "belfry/nest.h"
#include "belfry/detail/verb.h"
#include "belfry/replica_context.h"
#include "belfry/cross_replica_context.h"
#include "belfry/strategy.h"
#include "belfry/dataset.h"
// clang-format on

#include "belfry/addition_order.h"
#include "belfry/call_site.h"
#include "belfry/checkpoint.h"
#include "belfry/cross_device_ops.h"
#include "belfry/destination.h"
#include "belfry/detail/tensor/arithmetic.h"
#include "belfry/device_spec.h"
#include "belfry/distributed_dataset.h"
#include "belfry/distributed_values.h"
#include "belfry/dtype.h"
#include "belfry/error.h"
#include "belfry/fused_update.h"
#include "belfry/gradient_buckets.h"
#include "belfry/group_context.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/process_group.h"
#include "belfry/reduction.h"
#include "belfry/replica_groups.h"
#include "belfry/shape.h"
#include "belfry/sharded_variable.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"
#include "belfry/vjp.h"
