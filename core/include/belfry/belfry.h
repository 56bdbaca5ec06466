// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All headers for users of strategies; backends have their own headers (`belfry/sim/backend.h`,
/// `belfry/cuda/backend.h`). Library files never include this header.
#include "belfry/axis.h"
#include "belfry/call_site.h"
#include "belfry/central_storage_strategy.h"
#include "belfry/checkpoint.h"
#include "belfry/completion.h"
#include "belfry/cross_replica_context.h"
#include "belfry/dataset.h"
#include "belfry/default_strategy.h"
#include "belfry/destination.h"
#include "belfry/device_spec.h"
#include "belfry/distributed_dataset.h"
#include "belfry/distributed_values.h"
#include "belfry/dtype.h"
#include "belfry/error.h"
#include "belfry/integer_mean.h"
#include "belfry/mirrored_on.h"
#include "belfry/mirrored_strategy.h"
#include "belfry/nest.h"
#include "belfry/one_device_strategy.h"
#include "belfry/reduce_op.h"
#include "belfry/reduction.h"
#include "belfry/replica_context.h"
#include "belfry/run_options.h"
#include "belfry/strategy.h"
#include "belfry/tensor.h"
#include "belfry/variable.h"
#include "belfry/vjp.h"
