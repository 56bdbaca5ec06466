// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

namespace belfry {

/// One synchronous replica on each device, variables mirrored on all of them.
class MirroredStrategy final : public Strategy {
 public:
  /// Over all devices of `backend`.
  explicit MirroredStrategy(Backend& backend, CallSite site = CallSite::here());
  /// Over the devices the options name. Throws: InvalidArgumentError (kDuplicateDevice,
  /// kUnknownDevice), (kInvalidArgument) for an order that is none.
  MirroredStrategy(Backend& backend, const StrategyOptions& options,
                   CallSite site = CallSite::here());
};

}  // namespace belfry
