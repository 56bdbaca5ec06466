// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"

namespace belfry {

/// A single replica on one device. The rules for several replicas hold (SEM-15).
class OneDeviceStrategy final : public Strategy {
 public:
  /// Throws: InvalidArgumentError (kUnknownDevice).
  OneDeviceStrategy(Backend& backend, const DeviceSpec& device, CallSite site = CallSite::here());
};

}  // namespace belfry
