// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

namespace belfry {

/// A synchronous replica on each device; variables are mirrored on all devices.
class MirroredStrategy final : public Strategy {
 public:
  /// Over all devices of `backend`.
  explicit MirroredStrategy(Backend& backend, CallSite site = CallSite::here());
  /// Over the devices in the options. Throws: InvalidArgumentError (kDuplicateDevice,
  /// kUnknownDevice), (kInvalidArgument) for a number that is no ReductionOrder.
  MirroredStrategy(Backend& backend, const StrategyOptions& options,
                   CallSite site = CallSite::here());
};

}  // namespace belfry
