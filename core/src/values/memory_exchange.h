// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/backend/foreign_memory.h"
#include "belfry/tensor.h"

namespace belfry::detail {

/// The exchange of memory of a device. Throws: UnsupportedError (kUnsupported) if the device has
/// none; as device_of.
ForeignMemoryDevice& exchange_of(const Placement& placement, CallSite site);

}  // namespace belfry::detail
